"""Type checkers know the results of `invoke` and `ainvoke`."""

from typing import Any, get_type_hints

import pytest

from manus import build_agent, build_flow
from manus.state.agent import AgentOutput, AgentResult, FlowResult
from manus.state.flow import FlowOutput


class More:
    colour: str


async def misspell_keys() -> None:
    """Misspell three keys: `make check` fails if mypy does not report one of them."""
    agent = build_agent()
    result = await agent.ainvoke({"request": "Hi."}, context={"max_steps": 3})
    result["output"].upper(), result["usage"]["input_tokens"]
    result["outptu"]  # type: ignore[typeddict-item]
    agent.invoke({"request": "Hi."})["sucess"]  # type: ignore[typeddict-item]
    flow = build_flow()
    report = await flow.ainvoke({"request": "Hi."})
    report["plan"]["steps"], report["todos"], report["__interrupt__"][0].value
    report["plna"]  # type: ignore[typeddict-item]
    (await build_agent(state_schema=More).ainvoke({"request": "Hi."}))["colour"]
    values: Any = await agent.ainvoke({"request": "Hi."}, output_keys=["plans"])
    values["plans"]


@pytest.mark.parametrize(
    ("result", "output"), [(AgentResult, AgentOutput), (FlowResult, FlowOutput)]
)
def test_a_result_has_the_keys_of_the_output(result: type, output: type) -> None:
    assert get_type_hints(result).keys() == {*get_type_hints(output), "__interrupt__"}
