"""The agent behind AG-UI's adapter, which passes the whole configuration as the context."""

from __future__ import annotations

import uuid
from typing import Any

from benchmarks.consumers import scene as scenes
from benchmarks.consumers.scene import Results, Scene, check, expect


async def run(_: str) -> Results:
    """Run the checks with events of AG-UI."""
    from ag_ui.core import RunAgentInput, UserMessage
    from ag_ui_langgraph import LangGraphAgent

    results: Results = {}
    scene = Scene()
    graph: Any = scene.build()
    agent = LangGraphAgent(name="weigher", graph=graph)

    async def send(thread: str, words: str, **props: Any) -> list[Any]:
        message = UserMessage(id=str(uuid.uuid4()), role="user", content=words)
        start = RunAgentInput(
            thread_id=thread,
            run_id=str(uuid.uuid4()),
            state={},
            messages=[message] if words else [],
            tools=[],
            context=[],
            forwarded_props=props,
        )
        return [event async for event in agent.run(start)]

    async def calls_a_tool() -> str:
        scene.weighs()
        events = await send("t", scenes.REQUEST)
        snapshot = next(e for e in reversed(events) if "MESSAGES_SNAPSHOT" in str(e.type))
        last = snapshot.messages[-1]
        return expect(f"{last.role}: {last.content}", f"assistant: {scenes.ANSWER}")

    async def second() -> str:
        scene.converts()
        events = await send("t", scenes.SECOND)
        if scene.count_answer() != 1:
            return f"the answer is {scene.count_answer()} times in the second request"
        return expect(str(events), scenes.SECOND_ANSWER)

    async def streams() -> str:
        scene.weighs()
        kinds = {str(event.type).rpartition(".")[2] for event in await send("s", scenes.REQUEST)}
        missing = {"RUN_STARTED", "TOOL_CALL_START", "RUN_FINISHED"} - kinds
        return f"no {', '.join(sorted(missing))}" if missing else ""

    async def interrupts() -> str:
        scene.asks()
        events = await send("i", scenes.REQUEST)
        wrong = expect(str(events), scenes.QUESTION)
        events = await send("i", "", command={"resume": "The red one."})
        return wrong or expect(str(events), scenes.ANSWER)

    await check("tool call", results, calls_a_tool)
    await check("second request", results, second)
    await check("stream", results, streams)
    await check("interrupt", results, interrupts)
    scene.server.close()
    return results
