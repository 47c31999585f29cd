"""Requests as agent-chat-ui and deep-agents-ui send them."""

import base64
from typing import Any

import pytest

from tests.browser.test_files import pdf
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.helpers.tools import RED_DOT
from tests.server import call, text
from tests.server_api.chat_ui import AGENT_CHAT, DEEP_AGENTS, build_attachment, human, send
from tests.server_api.studio import Studio, list_messages

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


async def test_a_picture_a_pdf_and_another_file(studio: Studio) -> None:
    studio.server.script(text("I see."))
    content = [
        {"type": "text", "text": "What is this?"},
        build_attachment("image", "image/png", base64.b64decode(RED_DOT), "dot.png"),
        build_attachment("file", "application/pdf", pdf("The rent is 950."), "rent.pdf"),
        build_attachment("file", "text/csv", b"a,b\n", "../rows.csv"),
    ]
    await send(studio, await studio.thread(), input={"messages": [human(content)]})
    body = str(studio.server.requests[-1].body)
    assert f"data:image/png;base64,{RED_DOT}" in body
    assert "The rent is 950." in body
    assert "uploads/rows.csv" in body
    assert (studio.workspace / "uploads" / "rows.csv").read_bytes() == b"a,b\n"
    assert (studio.workspace / "uploads" / "rent.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("ui", [AGENT_CHAT, DEEP_AGENTS], ids=["agent-chat", "deep-agents"])
async def test_what_is_typed_at_a_question_is_its_answer(studio: Studio, ui: Any) -> None:
    thread = await studio.thread()
    studio.server.script(call("ask_human", inquire="Which colour?"), text("Blue it is."))
    state = await send(studio, thread, ui=ui, input={"messages": [human("Paint it.")]})
    [value] = [i["value"] for t in state["tasks"] for i in t["interrupts"]]
    assert value["question"] == "Which colour?"
    assert value["action_requests"][0]["description"] == "Which colour?"
    assert "respond" in value["review_configs"][0]["allowed_decisions"]
    answer: Any = {"command": {"resume": {"decisions": [{"type": "respond", "message": "Blue."}]}}}
    if ui is AGENT_CHAT:  # it sends everything it displays again
        answer = {"input": {"messages": [*state["values"]["messages"], human("Blue.")]}}
    state = await send(studio, thread, ui=ui, **answer)
    kinds = [kind for kind, _ in list_messages(state["values"])]
    assert kinds[:3] == ["human", "ai", "tool"]
    assert "Blue." in studio.server.requests[-1].text
    assert list_messages(state["values"])[-1] == ("ai", "Blue it is.")
    assert not state["next"]


async def test_a_decision_about_a_call(studio: Studio) -> None:
    thread, asks = await studio.thread(), {"approve": "ask"}
    studio.server.script(call("bash", command="echo first > made"), text("Done."))
    state = await send(studio, thread, context=asks, input={"messages": [human("Make it.")]})
    [question] = [i["value"] for t in state["tasks"] for i in t["interrupts"]]
    [action], [review] = question["action_requests"], question["review_configs"]
    assert (action["name"], action["args"]) == ("bash", {"command": "echo first > made"})
    assert review["action_name"] == "bash"
    assert {"approve", "edit", "reject"} <= {*review["allowed_decisions"]}
    edited = {"name": "bash", "args": {"command": "echo edited > made"}}
    answer: Any = {"resume": {"decisions": [{"type": "edit", "edited_action": edited}]}}
    state = await send(studio, thread, context=asks, input={}, command=answer)
    assert (studio.workspace / "made").read_text() == "edited\n"
    assert list_messages(state["values"])[-1] == ("ai", "Done.")


async def test_a_flow_shows_its_plan_and_no_inner_prompt(studio: Studio) -> None:
    studio.server.when(is_planner, makes("alpha", "beta"))
    for step in ("alpha", "beta"):
        studio.server.when(is_step(step), succeeds(f"{step} is done."))
    studio.server.when(is_summary, text("All is done."))
    thread, asks = await studio.thread(), {"approve_plan": True}
    request = human("Travel.")
    state = await send(studio, thread, "flow", context=asks, input={"messages": [request]})
    [question] = [i["value"] for t in state["tasks"] for i in t["interrupts"]]
    assert question["action_requests"][0]["name"] == "plan"
    answer: Any = {"resume": {"decisions": [{"type": "approve"}]}}
    stream = studio.client.runs.stream(
        thread, "flow", context=studio.context(**asks), input={}, command=answer, **AGENT_CHAT
    )
    states: list[Any] = [p.data async for p in stream if p.event.startswith("values")]
    people = {m["id"] for v in states for m in v.get("messages", []) if m["type"] == "human"}
    # messages that agent-chat-ui hides
    people = {id_ for id_ in people if not id_.startswith("do-not-render-")}
    assert people == {request["id"]}, "no inner prompt"
    assert any("todos" in values for values in states)
    last: Any = (await studio.client.threads.get_history(thread, limit=1))[0]
    todos = [(todo["content"], todo["status"]) for todo in last["values"]["todos"]]
    assert todos == [("alpha", "completed"), ("beta", "completed")]
    assert list_messages(last["values"])[-1] == ("ai", "All is done.")
