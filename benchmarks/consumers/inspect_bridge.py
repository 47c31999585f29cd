"""The agent under inspect-ai's bridge, which answers the requests of the OpenAI SDK in process."""

import tempfile
from typing import Any

from inspect_ai import Task, eval_async
from inspect_ai.agent import AgentState, agent, agent_bridge
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from langchain_openai import ChatOpenAI

from benchmarks.consumers import scene as scenes
from benchmarks.consumers.scene import Results, check, expect
from manus import build_agent


async def run(_: str) -> Results:
    """Run a request with a chat model that is given, streamed, and with a model that is named."""
    results: Results = {"interrupt": "not in inspect-ai", "second request": "not in inspect-ai"}

    async def whole() -> str:
        return await _evaluate(_given(), streams=False)

    async def streamed() -> str:
        return await _evaluate(_given(), streams=True) or await _evaluate(
            "openai:inspect", streams=True
        )

    await check("tool call", results, whole)
    await check("stream", results, streamed)
    return results


def _given() -> ChatOpenAI:
    options: dict[str, Any] = {"model": "inspect", "api_key": "none"}
    return ChatOpenAI(**options, max_retries=0)


async def _evaluate(model: Any, *, streams: bool) -> str:
    def reply(name: str, arguments: dict[str, Any]) -> ModelOutput:
        output = ModelOutput.for_tool_call("mockllm/model", name, arguments)
        output.usage = ModelUsage(input_tokens=5, output_tokens=5, total_tokens=10)
        return output

    answers: list[str] = []

    @agent  # type: ignore[untyped-decorator,unused-ignore]
    def weigher() -> Any:
        async def execute(state: AgentState) -> AgentState:
            async with agent_bridge(state) as bridge:
                tools = [scenes.weigh, "terminate"]
                graph = build_agent(model=model, tools=tools, system_prompt="You weigh parcels.")
                modes: Any = ["values", "messages"] if streams else ["values"]
                request = {"messages": [("user", state.messages[-1].text)]}
                async for mode, part in graph.astream(request, stream_mode=modes):
                    if mode == "values":
                        answers.append(str(part.get("output")))
            return bridge.state

        return execute

    ends = {"status": "success", "answer": scenes.ANSWER}
    mock = get_model(
        "mockllm/model",
        custom_outputs=[reply("weigh", {"parcel": "red"}), reply("terminate", ends)],
    )
    sample = Sample(input=scenes.REQUEST, target="740 g")
    task = Task(dataset=[sample], solver=weigher(), scorer=includes())
    with tempfile.TemporaryDirectory() as folder:
        await eval_async(task, model=mock, log_dir=folder, log_level="error")
    return expect(answers[-1], scenes.ANSWER)
