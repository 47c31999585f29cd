"""Stepping through a run: breakpoints, edits between them, what stays open meanwhile."""

from typing import Any

import pytest

from manus.graph.profiles import SWE
from tests.helpers.agent import ScriptedAgent, assert_paired, thread_config
from tests.helpers.processes import working_in
from tests.server import call, text

T = thread_config("t")
RUN = {"id": "r1", "request_id": "r", "step": 1, "max_steps": 20, "profile": "swe"}
EVERY = ["think", "act", "stuck_check"]


@pytest.fixture
def coder(agent: ScriptedAgent) -> ScriptedAgent:
    """An agent with a shell."""
    return ScriptedAgent(agent.server, agent.workspace, agent.saver, SWE)


async def step(coder: ScriptedAgent, given: Any = None, config: Any = T) -> tuple[str, ...]:
    """One node further; what would come next."""
    await coder.graph.ainvoke(given, config, context=coder.context(), interrupt_after=EVERY)
    found: tuple[str, ...] = (await coder.graph.aget_state(T)).next
    return found


async def test_the_shell_stays_between_nodes(coder: ScriptedAgent) -> None:
    coder.server.script(
        call("bash", command="X=5; echo $$ > pid"), call("bash", command="echo $X"), text("Five.")
    )
    came = [await step(coder, {"request": "Count."})]
    while came[-1]:
        came.append(await step(coder))
        if coder.lines("pid"):
            assert bool(working_in(coder.workspace)) == bool(came[-1])
    rounds = [("act",), ("stuck_check",), ("think",)]
    assert came == [*rounds, *rounds, ("stuck_check",), ()]
    assert (await coder.observations())[1] == "5\n[exit code 0]"


async def test_a_thread_is_forked_from_any_of_its_checkpoints(agent: ScriptedAgent) -> None:
    added = [call("append", path="a", line=str(number)) for number in range(2)]
    await agent.run(*added, text("Done."))
    ended = await agent.graph.aget_state(T)
    history = [s async for s in agent.graph.aget_state_history(T, limit=50)]
    assert len(history) >= 9
    agent.server.always(text("Another end."))
    for earlier in history:
        given = None if earlier.next else {"request": "And now?"}
        await agent.graph.ainvoke(given, earlier.config, context=agent.context())
        values = await agent.values()
        decided = earlier.next == ("stuck_check",) and len(earlier.values["messages"]) == 6
        assert values["output"] == ("Done." if decided else "Another end.")
        assert_paired(values["messages"])
        said = [message.text for message in values["messages"] if message.type == "human"]
        assert said == (["Do it."] if given is None else ["Do it.", "And now?"])
        kept = len(earlier.values.get("messages", []))
        assert values["messages"][:kept] == earlier.values.get("messages", [])
    assert agent.lines("a") == ["0", "1", "1", "0"], "what lay behind a checkpoint is done again"
    left = await agent.graph.aget_state(ended.config)
    assert left.values == ended.values
