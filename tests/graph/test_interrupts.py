"""A person and a run: pending questions, and messages in the middle of a step."""

import itertools
from pathlib import Path

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.types import Command

from tests.helpers.agent import ScriptedAgent, assert_paired, thread_config
from tests.helpers.tools import Shelf
from tests.server import call, calls, text

ASK = call("ask_human", inquire="Which colour?")


async def test_two_questions_of_one_message_are_answered_separately(agent: ScriptedAgent) -> None:
    write = call("append", path="a", line="1")
    waiting = await agent.run(calls(ASK, write, call("ask_human", inquire="Which size?"), write))
    colour, size = waiting.questions
    questions = (colour.value["question"], size.value["question"])
    assert questions == ("Which colour?", "Which size?")
    assert agent.lines("a") == ["1", "1"]
    still = await agent.invoke(Command(resume={size.id: "Large."}))
    assert still.stop_reason == "interrupted"
    assert [question.id for question in still.questions] == [colour.id]
    outcome = await agent.invoke(Command(resume={colour.id: "Red."}), text("Large and red."))
    assert outcome.stop_reason == "answered"
    assert await agent.observations() == ["Red.", "Appended to a.", "Large.", "Appended to a."]
    assert agent.lines("a") == ["1", "1"], "completed calls are not repeated"
    assert_paired(await agent.messages())


@pytest.mark.parametrize("left", ["", "the process", "the workspace"])
async def test_live_resources_stay_open_while_it_waits(
    agent: ScriptedAgent, tmp_path: Path, left: str
) -> None:
    await agent.run(call("keep", path="", line="one"), ASK)
    assert Shelf.open == 1
    if left == "the workspace":
        agent.workspace = tmp_path / "elsewhere"
    elif left == "the process":
        await agent.graph.close_waiting()
        assert Shelf.open == 0
    await agent.invoke(Command(resume="Blue."), call("keep", path="", line="two"), text("Done."))
    assert await agent.observations() == ["one", "Blue.", "two" if left else "one two"]
    assert Shelf.open == 0


async def test_a_new_request_instead_of_the_answer(agent: ScriptedAgent) -> None:
    await agent.run(calls(ASK, call("append", path="a", line="1")))
    outcome = await agent.run(text("All right."), request="Never mind.")
    assert (outcome.stop_reason, outcome.output) == ("answered", "All right.")
    assert_paired(await agent.messages())
    question, result = await agent.observations()
    assert "not answered" in question
    assert result == "Appended to a.", "the result comes from the journal"
    users = [m["content"] for m in agent.server.requests[-1].messages if m["role"] == "user"]
    assert users[:-1] == ["Do it.", "Never mind."]


@pytest.mark.parametrize("left", ["", "the process"])
async def test_a_new_request_while_an_approval_waits(agent: ScriptedAgent, left: str) -> None:
    write, read = call("append", path="a", line="1"), call("read", path="b")
    (agent.workspace / "b").write_text("2")
    await agent.run(calls(write, read), approve="ask")
    if left:
        await agent.graph.close_waiting()
    outcome = await agent.run(text("All right."), request="Never mind.")
    assert outcome.output == "All right."
    assert_paired(await agent.messages())
    waited, result = await agent.observations()
    assert "Not executed" in waited
    assert result == "2"
    assert agent.lines("a") == []
    assert "was in progress" not in agent.server.requests[-1].text


async def test_a_message_instead_of_the_answer_is_the_answer(agent: ScriptedAgent) -> None:
    await agent.run(ASK)
    outcome = await agent.invoke({"messages": [("user", "Blue.")]}, text("Blue it is."))
    assert outcome.output == "Blue it is."
    assert [m.type for m in await agent.messages()] == ["human", "ai", "tool", "ai"]
    assert await agent.observations() == ["Blue."]


async def test_a_history_with_existing_calls_is_accepted(agent: ScriptedAgent) -> None:
    message = AIMessage("", tool_calls=[{"id": "c1", "name": "read", "args": {"path": "a"}}])
    imported = [HumanMessage("Read a."), message, ToolMessage("7", tool_call_id="c1")]
    await agent.run(text("Hello."), request="Hi.")
    await agent.invoke({"messages": [*imported, HumanMessage("So?")]}, text("Seven."))
    assert await agent.observations() == ["7"]


T = thread_config("t")
STEER = HumanMessage("Be quick.", id="steer")
TAIL = b',{"role":"user","content":"What next?"'
TWO = calls(call("append", path="a", line="1"), call("append", path="b", line="1"))


@pytest.mark.parametrize("node", [None, "act"])
@pytest.mark.parametrize("after", ["think", "act", "stuck_check"])
async def test_a_message_between_nodes(
    agent: ScriptedAgent, after: str, node: str | None, subtests: pytest.Subtests
) -> None:
    """LangGraph attributes it to the given node, or guesses one; Studio names none."""
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
    for before, now in itertools.pairwise(agent.server.requests):
        with subtests.test(before=before, now=now):
            assert now.raw.startswith(before.raw[: before.raw.rindex(TAIL)])


async def test_a_thread_with_misplaced_messages_continues(agent: ScriptedAgent) -> None:
    """As left behind by a message in the middle of a step, or by a removed one."""
    await agent.run(TWO, text("Done."))
    history: list[AnyMessage] = await agent.messages()
    user, asks, first, second, end = history
    wrong = [user, asks, STEER, second, first, first.model_copy(update={"id": "twice"}), end]
    taken_out = [RemoveMessage(id=str(m.id)) for m in history]
    await agent.graph.aupdate_state(T, {"messages": [*taken_out, *wrong]}, as_node="stuck_check")
    await agent.run(call("poll"), text("Well."), request="And now?")
    after = await agent.messages()
    assert after[:6] == [user, asks, first, second, STEER, end]
    assert_paired(after)
    await agent.graph.aupdate_state(
        T, {"messages": [RemoveMessage(id=str(asks.id))]}, as_node="stuck_check"
    )
    outcome = await agent.run(text("Still here."), request="And now?")
    assert outcome.output == "Still here."
    assert_paired(await agent.messages())
