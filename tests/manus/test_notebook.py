"""What a notebook is shown is plain text without control characters."""

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from manus.notebook import show_run, show_update
from manus.state.plan import Plan

EVIL = "<script>alert(1)</script> \x1b[31m & \x07"
CALL = {"name": EVIL, "args": {"command": EVIL, EVIL: 1}, "id": "c"}
VALUES: dict[str, Any] = {
    "messages": [
        HumanMessage(EVIL, id="r"),
        AIMessage(EVIL, tool_calls=[CALL]),
        ToolMessage(EVIL, tool_call_id="c", status="error"),
    ],
    "run": {"request_id": "r"},
    "status": EVIL,
    "stop_reason": EVIL,
}
STEP: Any = {"text": EVIL, "executor": EVIL, "status": "blocked", "notes": EVIL, "depends_on": []}
PLAN: Plan = {"id": EVIL, "title": EVIL, "steps": [STEP]}


def test_it_is_text_without_control_characters() -> None:
    for shown in (
        show_run(VALUES),
        show_update(EVIL, {**VALUES, "loop": {"what": EVIL}}),
        show_update("act", {"messages": VALUES["messages"][2:]}),
        show_run({"plan": PLAN}),
    ):
        assert "<script>" in repr(shown)
        assert not {"\x1b", "\x07"} & {*repr(shown)}
        assert shown._repr_markdown_() is None
