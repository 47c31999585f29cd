"""A person writes into a thread in the midst of a step: it goes on, and nothing is done twice."""

import itertools

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage

from tests.helpers.agent import ScriptedAgent, assert_paired, thread_config
from tests.server import ScriptedServer, call, calls, text

T = thread_config("t")
STEER = HumanMessage("Be quick.", id="steer")
TAIL = b',{"role":"user","content":"What next?"'
TWO = calls(call("append", path="a", line="1"), call("append", path="b", line="1"))


def assert_prefixes_hold(server: ScriptedServer) -> None:
    for before, after in itertools.pairwise(server.requests):
        assert after.raw.startswith(before.raw[: before.raw.rindex(TAIL)])


@pytest.mark.parametrize("node", [None, "act"])
@pytest.mark.parametrize("after", ["think", "act", "stuck_check"])
async def test_a_message_between_nodes(agent: ScriptedAgent, after: str, node: str | None) -> None:
    """LangGraph takes it for that of the node that it is told, or guesses; Studio tells none."""
    agent.server.script(TWO)
    stop = {"interrupt_after": [after]}
    await agent.graph.ainvoke({"request": "Do it."}, T, context=agent.context(), **stop)
    await agent.graph.aupdate_state(T, {"messages": [STEER]}, as_node=node)
    outcome = await agent.invoke(None, call("poll"), text("Done."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Done.")
    history = await agent.messages()
    assert_paired(history)
    assert [m.type for m in history] == ["human", "ai", "tool", "tool", "human", "ai", "tool", "ai"]
    was_skipped = after == "think" and node in ("act", "stuck_check")
    assert (agent.lines("a"), agent.lines("b")) == (([], []) if was_skipped else (["1"], ["1"]))
    assert_prefixes_hold(agent.server)


async def test_a_thread_with_messages_in_the_wrong_places_goes_on(agent: ScriptedAgent) -> None:
    """As threads were left by a message in the midst of a step, or by one that was taken out."""
    await agent.run(TWO, text("Done."))
    history: list[AnyMessage] = await agent.messages()
    user, asks, first, second, done = history
    wrong = [user, asks, STEER, second, first, first.model_copy(update={"id": "twice"}), done]
    taken_out = [RemoveMessage(id=str(m.id)) for m in history]
    await agent.graph.aupdate_state(T, {"messages": [*taken_out, *wrong]}, as_node="stuck_check")
    await agent.run(call("poll"), text("Well."), request="And now?")
    after = await agent.messages()
    assert after[:6] == [user, asks, first, second, STEER, done]
    assert_paired(after)
    await agent.graph.aupdate_state(
        T, {"messages": [RemoveMessage(id=str(asks.id))]}, as_node="stuck_check"
    )
    outcome = await agent.run(text("Still here."), request="And now?")
    assert outcome.output == "Still here."
    assert_paired(await agent.messages())
