"""Requests of chat UIs to a thread that waits for a person, and their effect."""

from typing import Any

import pytest

from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.server import call, calls, text
from tests.server_api.chat_ui import (
    AGENT_CHAT,
    DEEP_AGENTS,
    build_decision,
    build_typed,
    get_checkpoint,
    human,
    list_questions,
    send,
)
from tests.server_api.studio import Studio, list_messages

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

ASKS = {"approve": "ask"}
MAKE = call("bash", command="echo made > made", timeout=50)
COLOUR = call("ask_human", inquire="Which colour?")
UIS = pytest.mark.parametrize("ui", [AGENT_CHAT, DEEP_AGENTS], ids=["agent-chat", "deep-agents"])
MADE_UP = "Successfully handled"
UNDER_WAY = "was in progress"


async def waiting(studio: Studio, thread: str, *replies: Any, **options: Any) -> dict[str, Any]:
    """Return the state of a thread that has reached a question."""
    studio.server.script(*replies)
    arguments = {"input": {"messages": [human("Do it.")]}, "context": ASKS, **options}
    return await send(studio, thread, **arguments)


def observed(state: dict[str, Any]) -> list[str]:
    return [words for kind, words in list_messages(state["values"]) if kind == "tool"]


@UIS
async def test_a_message_at_an_approval_is_the_reason_of_a_refusal(studio: Studio, ui: Any) -> None:
    thread = await studio.thread()
    state = await waiting(studio, thread, MAKE, text("Then not."), ui=ui)
    unclear = build_typed("Which folder is it?", state, ui)
    state = await send(studio, thread, ui=ui, context=ASKS, **unclear)
    assert state["next"], "it asks again"
    assert observed(state) == []
    request = build_typed("no: Write it to another folder, please.", state, ui)
    state = await send(studio, thread, ui=ui, context=ASKS, **request)
    [observation] = observed(state)
    assert "Not executed" in observation
    assert "Write it to another folder, please." in observation
    assert list_messages(state["values"])[-1] == ("ai", "Then not.")
    assert not state["next"]
    assert not (studio.workspace / "made").exists()
    body = studio.server.requests[-1].text
    assert (MADE_UP in body, UNDER_WAY in body) == (False, False)


@UIS
async def test_a_yes_that_is_typed_approves(studio: Studio, ui: Any) -> None:
    thread = await studio.thread()
    state = await waiting(studio, thread, MAKE, text("Done."), ui=ui)
    state = await send(studio, thread, ui=ui, context=ASKS, **build_typed("Yes.", state, ui))
    assert (studio.workspace / "made").read_text() == "made\n"
    assert list_messages(state["values"])[-1] == ("ai", "Done.")


@UIS
@pytest.mark.parametrize("has_checkpoint", [True, False])
async def test_a_message_at_a_question_is_the_answer(
    studio: Studio, ui: Any, has_checkpoint: bool
) -> None:
    thread = await studio.thread()
    state = await waiting(studio, thread, COLOUR, text("Blue it is."), ui=ui)
    request = build_typed("Blue.", state, ui)
    if not has_checkpoint:
        del request["checkpoint"]
    state = await send(studio, thread, ui=ui, context=ASKS, **request)
    assert list_messages(state["values"])[1:] == [
        ("ai", ""),
        ("tool", "Blue."),
        *[("ai", "Blue it is.")] * 2,  # it is sent back once, and the model repeats it
    ]
    assert not state["next"]
    assert MADE_UP not in studio.server.requests[-1].text


def edited(**args: str) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": "ask_human", "args": args}}


ANSWERS: list[tuple[dict[str, Any], str]] = [
    ({"type": "respond", "message": "Blue."}, "Blue."),
    ({"type": "reject", "message": "Blue."}, "Blue."),
    (edited(inquire="Which colour?", answer="Blue."), "Blue."),
    (edited(inquire="Blue.", answer=""), "Blue."),
    (edited(inquire="Which colour? Blue."), "Blue."),
    ({"type": "approve"}, "(no output)"),
]


@pytest.mark.parametrize(("decision", "answer"), ANSWERS)
async def test_a_decision_about_a_question_is_its_answer(
    studio: Studio, decision: dict[str, Any], answer: str
) -> None:
    thread = await studio.thread()
    state = await waiting(studio, thread, COLOUR, text("Well."))
    [question] = list_questions(state)
    [review] = question["review_configs"]
    assert {"respond", "edit", "reject"} <= {*review["allowed_decisions"]}
    state = await send(studio, thread, context=ASKS, **build_decision(state, **decision))
    assert observed(state) == [answer]


async def test_an_edited_call(studio: Studio) -> None:
    thread = await studio.thread()
    state = await waiting(studio, thread, MAKE, text("Done."))
    args = {"command": "echo edited > made", "timeout": "40"}
    request = build_decision(state, type="edit", edited_action={"name": "bash", "args": args})
    state = await send(studio, thread, context=ASKS, **request)
    assert (studio.workspace / "made").read_text() == "edited\n"
    assert '"timeout": 40' in observed(state)[0]


@UIS
async def test_marked_as_resolved(studio: Studio, ui: Any) -> None:
    thread = await studio.thread()
    state = await waiting(studio, thread, calls(MAKE, COLOUR), ui=ui)
    values: Any = {} if ui is AGENT_CHAT else None
    end: Any = {"goto": "__end__"} if ui is AGENT_CHAT else {"goto": "__end__", "update": None}
    request = {"input": values, "command": end, "checkpoint": get_checkpoint(state)}
    state = await send(studio, thread, ui=ui, context=ASKS, **request)
    assert (state["next"], list_questions(state)) == ([], [])
    assert (state["values"]["status"], state["values"]["success"]) == ("idle", False)
    assert (await studio.client.threads.get(thread))["status"] == "idle"
    studio.server.script(text("Something else, then."))
    request = {"input": {"messages": [human("Leave it.")]}}
    state = await send(studio, thread, ui=ui, context=ASKS, **request)
    refused, unanswered = observed(state)
    assert "Not executed" in refused
    assert "not answered" in unanswered
    assert list_messages(state["values"])[-1] == ("ai", "Something else, then.")
    body = studio.server.requests[-1].text
    assert (MADE_UP in body, UNDER_WAY in body) == (False, False)
    assert not (studio.workspace / "made").exists()


async def test_calls_are_decided_one_by_one(studio: Studio) -> None:
    """An answer from a chat UI does not identify its question."""
    thread = await studio.thread()
    both = calls(call("bash", command="echo a > a"), COLOUR)
    state = await waiting(studio, thread, both, text("Done."))
    [first] = list_questions(state)
    state = await send(
        studio, thread, context=ASKS, **build_decision(state, type="reject", message="No.")
    )
    [second] = list_questions(state)
    assert {first["kind"], second["kind"]} == {"approve", "question"}
    state = await send(
        studio, thread, context=ASKS, **build_decision(state, type="reject", message="Red")
    )
    assert list_messages(state["values"])[-1] == ("ai", "Done.")
    assert len(observed(state)) == 2
    assert not (studio.workspace / "a").exists()


async def test_the_made_up_result_of_a_stopped_call_is_ignored(studio: Studio) -> None:
    """A stopped run leaves a call without a tool message."""
    thread = await studio.thread()
    run = await studio.begin(thread, call("bash", command="echo $$ > pid; sleep 1000"))
    await studio.pid()
    await studio.client.runs.cancel(thread, run, wait=True)
    state: Any = await studio.client.threads.get_state(thread)
    studio.server.script(text("I see."))
    state = await send(studio, thread, context=ASKS, **build_typed("Go on.", state, AGENT_CHAT))
    assert MADE_UP not in studio.server.requests[-1].text
    assert list_messages(state["values"])[-2:] == [
        ("human", [{"type": "text", "text": "Go on."}]),
        ("ai", "I see."),
    ]


def scripts_flow(studio: Studio) -> None:
    studio.server.when(is_planner, makes("alpha"))
    studio.server.when(is_step("alpha"), COLOUR, succeeds("alpha is done."))
    studio.server.when(is_summary, text("All is done."))


async def test_a_question_of_a_plans_step_is_answered_by_a_message(studio: Studio) -> None:
    scripts_flow(studio)
    thread = await studio.thread()
    state = await waiting(studio, thread, graph="flow", ui=DEEP_AGENTS)
    [question] = list_questions(state)
    assert question["question"] == "Which colour?"
    request = build_typed("Blue.", state, DEEP_AGENTS)
    state = await send(studio, thread, "flow", ui=DEEP_AGENTS, context=ASKS, **request)
    assert list_messages(state["values"])[-1] == ("ai", "All is done.")
    assert any("Blue." in request.text for request in studio.server.requests)


async def test_a_plan_is_marked_as_resolved_while_its_step_asks(studio: Studio) -> None:
    studio.server.when(is_planner, makes("alpha", "beta"))
    studio.server.when(is_step("alpha"), COLOUR)
    thread = await studio.thread()
    state = await waiting(studio, thread, graph="flow", ui=DEEP_AGENTS)
    request = {"input": None, "command": {"goto": "__end__", "update": None}}
    state = await send(studio, thread, "flow", ui=DEEP_AGENTS, context=ASKS, **request)
    assert (state["next"], list_questions(state)) == ([], [])
    assert state["values"]["stop_reason"] == "plan_incomplete"
    statuses = [step["status"] for step in state["values"]["plan"]["steps"]]
    assert statuses == ["blocked", "not_started"]
    assert [todo["status"] for todo in state["values"]["todos"]] == ["pending", "pending"]


async def test_a_message_at_a_plan_requests_changes(studio: Studio) -> None:
    studio.server.when(is_planner, makes("alpha"), makes("beta"))
    thread, asks = await studio.thread(), {"approve_plan": True}
    state = await waiting(studio, thread, graph="flow", ui=DEEP_AGENTS, context=asks)
    request = build_typed("Do beta instead.", state, DEEP_AGENTS)
    state = await send(studio, thread, "flow", ui=DEEP_AGENTS, context=asks, **request)
    assert "Do beta instead." in studio.server.requests[-1].text
    assert [step["text"] for step in state["values"]["plan"]["steps"]] == ["beta"]
    assert len(list_questions(state)) == 1
