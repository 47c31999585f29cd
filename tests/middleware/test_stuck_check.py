"""Loop detection in other people's agents: a hint, a refusal, the end."""

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.outputs import ChatResult

from manus.middleware import StuckCheck
from tests.middleware.agents import Call, Planned, make_tools, observations

START: Any = {"messages": [("user", "Go.")]}


class Listening(Planned):
    """Records the last message of each request."""

    last: list[str]

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        self.last.append(str(messages[-1].content))
        return super()._generate(messages, *args, **kwargs)


async def work(folder: Path, plan: list[list[Call]], *, is_async: bool) -> tuple[Any, list[str]]:
    model = Listening(plan=plan, last=[])
    agent: Any = create_agent(model, make_tools(folder), middleware=[StuckCheck()])
    state = await agent.ainvoke(START) if is_async else agent.invoke(START)
    return state, model.last


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_loop_gets_a_hint_then_a_refusal_then_the_end(
    tmp_path: Path, is_async: bool
) -> None:
    same = [("append", {"line": "1"})]
    state, last = await work(tmp_path, [same] * 20, is_async=is_async)
    executed = [text for text in observations(state) if text == "Appended 1."]
    refused = [text for text in observations(state) if text.startswith("Not executed")]
    assert "You are stuck in a loop" in last[3]
    assert (len(executed), len(refused)) == (4, 2)
    assert str(state["messages"][-1].content).startswith("The run was stopped because")
    hints = [m for m in state["messages"] if isinstance(m, HumanMessage)]
    assert len(hints) == 1, "a hint is not stored"


async def test_progress_is_not_a_loop(tmp_path: Path) -> None:
    plan: list[list[Call]] = [[("append", {"line": str(number)})] for number in range(8)]
    state, last = await work(tmp_path, plan, is_async=True)
    assert state["messages"][-1].content == "Done."
    assert not any("loop" in text for text in last)
