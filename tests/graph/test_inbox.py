"""Messages to a thread during a run: read at the next step, queued, withdrawn."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from manus.graph.inbox import list_messages, send_message, withdraw_message
from manus.prompts.agent import SENT_MEANWHILE
from manus.state.errors import UsageError
from tests.flow.helpers import (
    ScriptedFlow,
    is_planner,
    is_step,
    is_summary,
    makes,
    revises,
    succeeds,
)
from tests.helpers.agent import DELEGATOR, ScriptedAgent, assert_paired
from tests.helpers.child import REQUEST, killed_when, start_run
from tests.helpers.long_run import agent_requests, looker_on
from tests.server import Request, Scripted, ScriptedServer, call, calls, fail, hang, text

WRITE = call("append", path="a", line="1")


def sends(
    agent: ScriptedAgent, words: str, reply: Scripted, *, queue: bool = False
) -> Callable[[Request], Any]:
    """Return a model reply during which the user sends something, as from another process."""

    def answer(request: Request) -> Any:
        send_message(agent.saver, "t", words, queue=queue)
        return reply(request) if callable(reply) else reply

    return answer


def user_messages(request: Request) -> list[str]:
    """Return the user's messages of a request, without the notes of the step at its end."""
    return [str(m["content"]) for m in request.messages[:-1] if m["role"] == "user"]


def count(request: Request, words: str) -> int:
    return request.raw.decode().count(words)


async def test_a_message_is_read_at_the_next_step_between_results_and_request(
    agent: ScriptedAgent,
) -> None:
    outcome = await agent.run(sends(agent, "Use tabs.", WRITE), WRITE, text("Done."))
    assert outcome.output == "Done."
    first, second, third = agent.server.requests
    assert count(first, "Use tabs.") == 0
    assert [m["role"] for m in second.messages[-3:]] == ["tool", "user", "user"]
    assert second.messages[-2]["content"] == f"{SENT_MEANWHILE}\n\nUse tabs."
    assert [count(request, "Use tabs.") for request in (second, third)] == [1, 1]
    assert list_messages(agent.saver, "t") == []
    assert [m.text for m in await agent.messages() if m.type == "human"] == ["Do it.", "Use tabs."]
    assert_paired(await agent.messages())


async def test_the_event_of_a_message_comes_after_that_of_its_step(agent: ScriptedAgent) -> None:
    events = await agent.events(sends(agent, "Use tabs.", WRITE), text("Done."))
    kinds = [event["type"] for event in events]
    at = kinds.index("message")
    assert events[at]["text"] == "Use tabs."
    assert kinds[at - 1] == "step"
    assert events[at - 1]["step"] == 2


async def test_several_messages_keep_their_order(agent: ScriptedAgent) -> None:
    both = sends(agent, "first", sends(agent, "second", WRITE))
    await agent.run(both, text("Done."))
    assert user_messages(agent.server.requests[1])[1:] == [
        f"{SENT_MEANWHILE}\n\nfirst",
        f"{SENT_MEANWHILE}\n\nsecond",
    ]


async def test_only_unread_messages_can_be_withdrawn(
    agent: ScriptedAgent,
) -> None:
    withdrawn: list[bool] = []

    def first(_: Request) -> Any:
        message = send_message(agent.saver, "t", "Forget it.")
        withdrawn.append(withdraw_message(agent.saver, "t", message))
        send_message(agent.saver, "t", "Keep it.")
        return WRITE

    def second(request: Request) -> Any:
        assert count(request, "Forget it.") == 0
        assert count(request, "Keep it.") == 1
        [read] = agent.saver.records.inbox.read("t")  # type: ignore[attr-defined]
        withdrawn.append(withdraw_message(agent.saver, "t", read.id))
        return text("Done.")

    await agent.run(first, second)
    assert withdrawn == [True, False]


@pytest.mark.parametrize(
    "ending", [text("It is done."), call("terminate", status="success", answer="It is done.")]
)
async def test_a_run_does_not_end_with_an_unread_message(agent: ScriptedAgent, ending: Any) -> None:
    outcome = await agent.run(sends(agent, "And the tests?", ending), text("They pass, too."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "They pass, too.")
    assert user_messages(agent.server.requests[1]) == [
        "Do it.",
        f"{SENT_MEANWHILE}\n\nAnd the tests?",
    ]


async def test_after_the_last_step_an_unread_message_is_the_next_request(
    agent: ScriptedAgent,
) -> None:
    late = sends(agent, "Stop at once.", WRITE)
    outcome = await agent.run(late, text("Stopped."), max_steps=1)
    assert outcome.output == "Stopped."
    assert user_messages(agent.server.requests[1]) == ["Do it.", "Stop at once."]
    assert list_messages(agent.saver, "t") == []


async def test_a_queued_message_is_the_next_request(agent: ScriptedAgent) -> None:
    queued = sends(agent, "Then sweep up.", WRITE, queue=True)
    outcome = await agent.run(queued, text("Done."), text("Swept."))
    assert outcome.output == "Swept."
    assert outcome.results == ["Step 1: Swept."]
    second, third = agent.server.requests[1:]
    assert count(second, "sweep up") == 0
    assert user_messages(third) == ["Do it.", "Then sweep up."]
    assert agent.saver.records.inbox.read("t") == []  # type: ignore[attr-defined]


async def test_a_message_stays_when_the_model_fails_and_is_read_by_the_next_run(
    agent: ScriptedAgent,
) -> None:
    failing = sends(agent, "Be quick.", fail(401), queue=True)
    outcome = await agent.run(failing)
    assert outcome.stop_reason == "error"
    assert [m.text for m in list_messages(agent.saver, "t")] == ["Be quick."]
    outcome = await agent.run(text("First."), text("Quick."), request="Again.")
    assert outcome.output == "Quick."
    assert user_messages(agent.server.requests[-1]) == ["Do it.", "Again.", "Be quick."]


async def test_a_message_ends_a_loop(agent: ScriptedAgent) -> None:
    """New input resets the count: three more repetitions are needed for a hint."""
    same = call("append", path="a", line="1")
    replies: list[Scripted] = [same, sends(agent, "Do it again.", same), same, same, text("Done.")]
    outcome = await agent.run(*replies)
    assert outcome.stop_reason == "answered"
    assert "stuck in a loop" not in agent.server.requests[-1].raw.decode()


@pytest.mark.environ(MANUS_CONTEXT_WINDOW="1000000")
@pytest.mark.parametrize("sent_in", [1, 8], ids=["long read", "just read"])
async def test_a_message_survives_compaction(agent: ScriptedAgent, sent_in: int) -> None:
    looker = looker_on(agent)
    looks: list[Scripted] = [calls(call("look", place=place)) for place in range(1, 9)]
    looks[sent_in - 1] = sends(looker, "Always in metres.", looks[sent_in - 1])
    overflow = fail(400, code="context_length_exceeded")
    outcome = await looker.run(*looks, overflow, text("Done."))
    assert outcome.output == "Done."
    assert (await looker.values())["compaction"]["count"] == 1
    last = agent_requests(looker)[-1]
    assert "Notes on the messages" in last.text
    assert count(last, "Always in metres.") == 1


async def test_an_answer_to_a_question_is_an_answer_as_before(agent: ScriptedAgent) -> None:
    asks = sends(agent, "By the way.", call("ask_human", inquire="Which?"))
    outcome = await agent.run(asks)
    assert outcome.stop_reason == "interrupted"
    assert [m.text for m in list_messages(agent.saver, "t")] == ["By the way."]
    message = HumanMessage("The red one.")
    outcome = await agent.invoke({"messages": [message]}, text("Done."))
    last = agent.server.requests[-1]
    assert [*last.tool_results.values()] == ["The red one."]
    assert user_messages(last)[-1].endswith("By the way.")


async def test_a_delegated_agent_leaves_the_message_to_its_caller(agent: ScriptedAgent) -> None:
    delegator = ScriptedAgent(agent.server, agent.workspace, agent.saver, DELEGATOR)
    delegates = sends(agent, "Hurry.", call("delegate", task="Look.", profile="browser"))
    outcome = await delegator.run(delegates, text("Seen."), text("Done."))
    assert outcome.output == "Done."
    inner, outer = delegator.server.requests[1:]
    assert [count(request, "Hurry.") for request in (inner, outer)] == [0, 1]


@pytest.mark.parametrize("words", ["", " \n"])
def test_an_empty_message_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match="message is empty"):
        send_message(InMemorySaver(), "t", words)


def test_without_a_checkpointer_there_is_no_inbox() -> None:
    with pytest.raises(UsageError, match="need a checkpointer"):
        send_message(None, "t", "Hello.")  # type: ignore[arg-type]


async def test_with_a_third_party_checkpointer_it_is_kept_in_memory(
    server: ScriptedServer, own_workspace: Path
) -> None:
    agent = ScriptedAgent(server, own_workspace, InMemorySaver())
    other = InMemorySaver()
    send_message(other, "t", "Not for this one.")
    outcome = await agent.run(
        sends(agent, "Hurry.", sends(agent, "Then rest.", WRITE, queue=True)),
        text("Done."),
        text("Rested."),
    )
    assert outcome.output == "Rested."
    assert count(server.requests[1], "Hurry.") == 1
    assert "Not for this one." not in "".join(request.text for request in server.requests)


# killed


async def test_killed_after_it_was_stored(agent: ScriptedAgent) -> None:
    agent.server.script(sends(agent, "Use tabs.", hang(reply=text("Never."), after_chunks=0)))
    with start_run(agent, REQUEST) as child:
        killed_when(child, lambda: bool(list_messages(agent.saver, "t")))
    outcome = await agent.invoke(None, text("Done."))
    assert outcome.output == "Done."
    assert count(agent.server.requests[-1], "Use tabs.") == 1
    assert user_messages(agent.server.requests[-1])[-1].endswith("Use tabs.")


async def test_killed_after_it_was_taken(agent: ScriptedAgent) -> None:
    """The request with the message was sent, but no checkpoint contains it."""
    hanging = hang(reply=text("Never."), after_chunks=0)
    agent.server.script(sends(agent, "Use tabs.", WRITE), hanging)
    with start_run(agent, REQUEST) as child:
        killed_when(child, lambda: len(agent.server.requests) == 2)
    [message] = agent.saver.records.inbox.read("t")  # type: ignore[attr-defined]
    assert message.reader == ""
    assert not withdraw_message(agent.saver, "t", message.id)
    outcome = await agent.invoke(None, WRITE, text("Done."))
    assert outcome.output == "Done."
    assert [count(request, "Use tabs.") for request in agent.server.requests[1:]] == [1, 1, 1]
    assert agent.saver.records.inbox.read("t") == []  # type: ignore[attr-defined]


async def test_killed_in_the_next_step_before_it_was_removed(agent: ScriptedAgent) -> None:
    """A checkpoint contains the message, and so does the inbox."""
    agent.server.script(sends(agent, "Use tabs.", WRITE), call("hold", path="held", line="1"))
    with start_run(agent, REQUEST) as child:
        killed_when(child, lambda: agent.lines("held") == ["1"])
    assert len(agent.saver.records.inbox.read("t")) == 1  # type: ignore[attr-defined]
    outcome = await agent.invoke(None, text("Done."))
    assert outcome.output == "Done."
    assert count(agent.server.requests[-1], "Use tabs.") == 1
    assert agent.saver.records.inbox.read("t") == []  # type: ignore[attr-defined]


async def test_killed_in_the_run_of_a_queued_message(agent: ScriptedAgent) -> None:
    agent.server.script(
        sends(agent, "Then sweep up.", text("Done."), queue=True),
        hang(reply=text("Never."), after_chunks=0),
    )
    with start_run(agent, REQUEST) as child:
        killed_when(child, lambda: len(agent.server.requests) == 2)
    outcome = await agent.invoke(None, text("Swept."))
    assert outcome.output == "Swept."
    assert [count(request, "sweep up") for request in agent.server.requests[1:]] == [1, 1]
    assert agent.saver.records.inbox.read("t") == []  # type: ignore[attr-defined]


# plans


async def test_in_a_plan_the_active_step_reads_it_and_the_next_ones_know_it(
    flow: ScriptedFlow,
) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", sends(flow, "In Celsius.", WRITE), succeeds())
    flow.step("beta", succeeds())
    flow.sums_up(text("All."))
    outcome = await flow.run()
    assert outcome.output == "All."
    first, second = flow.requests_for(is_step("alpha"))
    assert [count(request, "In Celsius.") for request in (first, second)] == [0, 1]
    assert [count(request, "In Celsius.") for request in flow.requests_for(is_step("beta"))] == [1]
    assert [count(request, "In Celsius.") for request in flow.requests_for(is_summary)] == [1]
    assert len(flow.requests_for(is_planner)) == 1, "the plan was not revised"
    assert flow.saver.records.inbox.read("t") == []  # type: ignore[attr-defined]


async def test_between_two_steps_the_plan_is_revised_accordingly(flow: ScriptedFlow) -> None:
    flow.plans(sends(flow, "No beta.", makes("alpha", "beta")), revises("gamma"))
    flow.step("gamma", succeeds())
    flow.sums_up(text("All."))
    outcome = await flow.run()
    assert outcome.output == "All."
    assert [step["text"] for step in (await flow.plan())["steps"]] == ["gamma"]
    plan, revised = flow.requests_for(is_planner)
    assert count(plan, "No beta.") == 0
    assert "the rest of the plan must follow it: No beta." in revised.text


async def test_of_two_active_steps_one_reads_it(flow: ScriptedFlow) -> None:
    flow.plans(makes({"text": "alpha", "depends_on": []}, {"text": "beta", "depends_on": []}))
    flow.step("alpha", sends(flow, "Only once.", WRITE), succeeds("A."))
    flow.step("beta", call("append", path="b", line="1"), succeeds("B."))
    flow.sums_up(text("All."))
    assert (await flow.run()).stop_reason == "completed"
    last = [flow.requests_for(is_step(name))[-1] for name in ("alpha", "beta")]
    assert sorted(count(request, "Only once.") for request in last) == [0, 1]


async def test_killed_after_a_step_of_a_plan_has_taken_it(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha"))
    hanging = hang(reply=text("Never."), after_chunks=0)
    flow.step("alpha", sends(flow, "In Celsius.", WRITE), hanging, succeeds())
    flow.sums_up(text("All."))
    with start_run(flow, REQUEST) as child:
        killed_when(child, lambda: len(flow.requests_for(is_step("alpha"))) == 2)
    [message] = flow.saver.records.inbox.read("t")  # type: ignore[attr-defined]
    assert message.reader
    outcome = await flow.invoke(None)
    assert outcome.output == "All."
    assert [count(r, "In Celsius.") for r in flow.requests_for(is_step("alpha"))] == [0, 1, 1]
    assert flow.saver.records.inbox.read("t") == []  # type: ignore[attr-defined]


async def test_an_abandoned_killed_step_returns_the_message(flow: ScriptedFlow) -> None:
    """The user continues with another request: its plan includes the message."""
    flow.plans(makes("alpha"), makes("beta"))
    hanging = hang(reply=text("Never."), after_chunks=0)
    flow.step("alpha", sends(flow, "In Celsius.", WRITE), hanging)
    flow.step("beta", succeeds())
    flow.sums_up(text("All."))
    with start_run(flow, REQUEST) as child:
        killed_when(child, lambda: len(flow.requests_for(is_step("alpha"))) == 2)
    await flow.run(request="Something else.")
    assert count(flow.requests_for(is_planner)[-1], "In Celsius.") == 1


async def test_with_a_thread_its_inbox_is_deleted(agent: ScriptedAgent) -> None:
    await agent.run(sends(agent, "Later.", fail(401), queue=True))
    await agent.saver.adelete_thread("t")
    assert list_messages(agent.saver, "t") == []


async def test_a_run_of_a_server_leaves_queued_messages_unread(agent: ScriptedAgent) -> None:
    """Its `run_id` identifies one input; the server has its own queue."""
    queued = sends(agent, "Then sweep.", text("Done."), queue=True)
    outcome = await agent.invoke({"request": "Do it."}, queued, run_id="one")
    assert outcome.output == "Done."
    assert [m.text for m in list_messages(agent.saver, "t")] == ["Then sweep."]
