"""Questions to a person: the run waits, and goes on with the answer."""

from pathlib import Path

import pytest
from langgraph.types import Command

from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.helpers.tools import Shelf
from tests.server import call, calls, text

ASK = call("ask_human", inquire="Which colour?")


async def test_two_questions_of_one_message_are_answered_apart(agent: ScriptedAgent) -> None:
    write = call("append", path="a", line="1")
    waiting = await agent.run(calls(ASK, write, call("ask_human", inquire="Which size?"), write))
    colour, size = waiting.questions
    asked = (colour.value["question"], size.value["question"])
    assert asked == ("Which colour?", "Which size?")
    assert agent.lines("a") == ["1", "1"]
    still = await agent.invoke(Command(resume={size.id: "Large."}))
    assert still.stop_reason == "interrupted"
    assert [question.id for question in still.questions] == [colour.id]
    outcome = await agent.invoke(Command(resume={colour.id: "Red."}), text("Large and red."))
    assert outcome.stop_reason == "answered"
    assert await agent.observations() == ["Red.", "Appended to a.", "Large.", "Appended to a."]
    assert agent.lines("a") == ["1", "1"], "what was done is not done again"
    assert_paired(await agent.messages())


@pytest.mark.parametrize("left", ["", "the process", "the workspace"])
async def test_live_things_stay_open_while_it_waits_unless_it_is_left(
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
    asked, done = await agent.observations()
    assert "not answered" in asked
    assert done == "Appended to a.", "what was done is known from the journal"
    users = [m["content"] for m in agent.server.requests[-1].messages if m["role"] == "user"]
    assert users[:-1] == ["Do it.", "Never mind."]
