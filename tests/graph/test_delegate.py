"""A task delegated to another agent: its own context, one answer, the same budget and journal."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from tests.helpers.agent import DELEGATOR, ScriptedAgent, assert_paired
from tests.helpers.child import REQUEST, killed_when, start_run
from tests.server import Queue, Request, call, calls, text

HELPER = """\
[profiles.helper]
based_on = "swe"
max_steps = 4
tools = ["tests.helpers.tools:Append", "tests.helpers.tools:Hold", "ask_human", "delegate"]
"""
COUNT = call("delegate", task="Count the birds.", profile="helper")
NAME = call("delegate", task="Name the fish.", profile="helper")


class Delegator(ScriptedAgent):
    def delegate(self, task: str, *replies: Any) -> Queue:
        """Script replies for the agent that gets this task."""
        return self.server.when(lambda request: delegated_task(request) == task, *replies)


def delegated_task(request: Request) -> str:
    users = [m["content"] for m in request.messages if m["role"] == "user"]
    return str(users[0])


@pytest.fixture
async def lead(agent: ScriptedAgent) -> AsyncIterator[Delegator]:
    Path("manus.toml").write_text(HELPER)
    delegator = Delegator(agent.server, agent.workspace, agent.saver, DELEGATOR)
    yield delegator
    await delegator.graph.close_waiting()


async def test_only_the_answer_comes_back(lead: Delegator) -> None:
    lead.delegate("Count the birds.", call("append", path="a", line="1"), text("Seven birds."))
    outcome = await lead.run(COUNT, text("Seven."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Seven.")
    assert await lead.observations() == ["Seven birds."]
    assert lead.lines("a") == ["1"]
    [inside, _] = [r for r in lead.server.requests if delegated_task(r) == "Count the birds."]
    assert "Do it." not in str(inside.messages)
    assert set(inside.tool_names) == {"append", "hold", "ask_human"}, "it cannot pass it on"


async def test_it_shares_the_budget(lead: Delegator) -> None:
    lead.delegate("Count the birds.").always(call("append", path="a", line="1"))
    outcome = await lead.run(COUNT, budget={"model_calls": 3})
    assert (outcome.stop_reason, outcome.usage["model_calls"]) == ("budget", 3)
    count = len(lead.lines("a"))
    outcome = await lead.run(COUNT, text("So far."), thread="calls", budget={"tool_calls": 2})
    assert outcome.stop_reason == "budget"
    assert len(lead.lines("a")) == count + 2
    lead.delegate("Name the fish.", call("ask_human", inquire="Where?"))
    few: Any = {"thread": "asks", "budget": {"model_calls": 2}}
    await lead.run(NAME, **few)
    outcome = await lead.invoke(Command(resume="In the park."), **few)
    assert (outcome.stop_reason, outcome.usage["model_calls"]) == ("budget", 2)


async def test_side_by_side(lead: Delegator) -> None:
    """Each waits for the other's file: sequential execution would never finish."""

    def meet(request: Request) -> Any:
        return call("append", path="release", line=delegated_task(request))

    lead.delegate("Count the birds.", call("hold", path="a", line="1"), text("Seven."))
    lead.delegate("Name the fish.", meet, text("Carp."))
    await lead.run(calls(COUNT, NAME), text("Done."))
    assert await lead.observations() == ["Seven.", "Carp."]


async def test_one_that_never_finishes(lead: Delegator) -> None:
    lead.delegate("Count the birds.").always(lambda _: call("append", path="a", line="1"))
    await lead.run(COUNT, text("It failed."))
    [observation] = await lead.observations()
    assert "ran out of steps" in observation
    assert len(lead.lines("a")) == 4


async def test_its_question_waits_for_the_person(lead: Delegator) -> None:
    lead.delegate("Count the birds.", call("append", path="a", line="1"))
    lead.delegate("Count the birds.", call("ask_human", inquire="Where?"), text("Seven."))
    waiting = await lead.run(COUNT)
    assert (waiting.stop_reason, waiting.output) == ("interrupted", "Where?")
    outcome = await lead.invoke(Command(resume="In the park."), text("Seven birds."))
    assert outcome.output == "Seven birds."
    assert lead.lines("a") == ["1"]
    assert (outcome.usage["model_calls"], outcome.usage["tool_calls"]) == (5, 3)


async def test_it_resumes_where_it_was_when_the_process_died(lead: Delegator) -> None:
    lead.delegate("Count the birds.", call("append", path="a", line="1"))
    lead.delegate("Count the birds.", call("hold", path="held", line="1"), text("Seven."))
    lead.server.script(COUNT)
    with start_run(lead, REQUEST) as child:
        killed_when(child, lambda: lead.lines("held") == ["1"])
    outcome = await lead.invoke(None, text("Seven birds."))
    assert outcome.output == "Seven birds."
    assert (lead.lines("a"), lead.lines("held")) == (["1"], ["1"])
    assert await lead.observations() == ["Seven."]
    assert (outcome.usage["model_calls"], outcome.usage["tool_calls"]) == (5, 3)
    assert_paired(await lead.messages())


async def test_its_approvals_apply_to_the_run(lead: Delegator) -> None:
    lead.delegate("Count the birds.", call("append", path="a", line="1"), text("Seven."))
    waiting = await lead.run(COUNT, approve="ask")
    assert waiting.stop_reason == "interrupted"
    again = call("append", path="a", line="2")
    outcome = await lead.invoke(Command(resume="run"), again, text("Done."), approve="ask")
    assert (outcome.output, lead.lines("a")) == ("Done.", ["1", "2"])
