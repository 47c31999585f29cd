"""The agent in LangGraph's own compositions: supervisor, swarm, and as a tool of `create_agent`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from benchmarks.consumers import scene as scenes
from benchmarks.consumers.scene import Results, Scene, check, expect
from tests.server import call, text

CONFIG: Any = {"configurable": {"thread_id": "t"}}
DONE = text("The team is done.")

Build = Callable[[Scene], Any]


def supervisor(scene: Scene) -> Any:
    """Return a team of langgraph-supervisor with the agent as its member."""
    from langgraph_supervisor import create_supervisor

    member = scene.build(saves=False, name="weigher")
    team = create_supervisor([member], model=scene.model, prompt="You lead a team.")
    return team.compile(checkpointer=InMemorySaver())


def swarm(scene: Scene) -> Any:
    """Return a team of langgraph-swarm with the agent as its default member."""
    from langgraph_swarm import create_swarm

    member = scene.build(saves=False, name="weigher")
    team = create_swarm([member], default_active_agent="weigher")
    return team.compile(checkpointer=InMemorySaver())


def tool_of_agent(scene: Scene) -> Any:
    """Return an agent of LangChain with the agent as one of its tools."""
    member = scene.build(saves=False, name="weigher")

    @tool
    async def weigher(task: str) -> str:
        """Have a parcel weighed."""
        result = await member.ainvoke({"messages": [{"role": "user", "content": task}]})
        return str(result["messages"][-1].text)

    return create_agent(scene.model, [weigher], checkpointer=InMemorySaver())


LEADS: dict[str, tuple[Build, str]] = {
    "langgraph-supervisor": (supervisor, "transfer_to_weigher"),
    "langgraph-swarm": (swarm, ""),
    "create_agent": (tool_of_agent, "weigher"),
}
"""How a team is built, and the call by which its leader gives the agent a task."""


async def run(name: str) -> Results:
    """Run the checks in one composition."""
    results: Results = {}
    build, handoff = LEADS[name]
    scene = Scene()
    team = build(scene)
    arguments = {"task": scenes.REQUEST} if handoff == "weigher" else {}

    def leads() -> None:
        if handoff:
            scene.lead_says(call(handoff, arguments), DONE)

    def ask(words: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": words}]}

    async def calls_a_tool() -> str:
        leads()
        scene.weighs()
        result = await team.ainvoke(ask(scenes.REQUEST), CONFIG)
        texts = [message.text for message in result["messages"]]
        return expect(str(texts), scenes.ANSWER)

    async def second() -> str:
        leads()
        scene.converts()
        result = await team.ainvoke(ask(scenes.SECOND), CONFIG)
        wrong = expect(str([m.text for m in result["messages"]]), scenes.SECOND_ANSWER)
        if not wrong and handoff != "weigher" and scene.count_answer() != 1:
            return f"the answer is {scene.count_answer()} times in the second request"
        return wrong

    async def streams() -> str:
        leads()
        scene.weighs()
        config = {"configurable": {"thread_id": "s"}}
        parts = []
        modes = ["messages", "updates"]
        async for part in team.astream(
            ask(scenes.REQUEST), config, stream_mode=modes, subgraphs=True
        ):
            parts.append(str(part))
        return expect("".join(parts), scenes.ANSWER) or ("" if len(parts) > 4 else "too few parts")

    async def interrupts() -> str:
        leads()
        scene.asks()
        config = {"configurable": {"thread_id": "i"}}
        waiting = await team.ainvoke(ask(scenes.REQUEST), config)
        wrong = expect(str(waiting.get("__interrupt__")), scenes.QUESTION)
        result = await team.ainvoke(Command(resume="The red one."), config)
        texts = [message.text for message in result["messages"]]
        return wrong or expect(str(texts), scenes.ANSWER)

    await check("tool call", results, calls_a_tool)
    await check("second request", results, second)
    await check("stream", results, streams)
    await check("interrupt", results, interrupts)
    scene.server.close()
    return results
