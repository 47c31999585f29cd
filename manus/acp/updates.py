"""Translate the events of a run into the session updates that an editor shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acp import helpers, schema

from manus.prompts.formatting import flat, main_argument
from manus.runs.jobs import text_chunks
from manus.state.plan import Plan, StepStatus

_KINDS: dict[str, schema.ToolKind] = {
    "bash": "execute",
    "python_execute": "execute",
    "browser_use": "fetch",
    "web_search": "search",
    "str_replace_editor": "edit",
    "skill": "read",
    "recall": "read",
    "planning": "think",
    "delegate": "think",
}
_HIDDEN = ("terminate",)
"""Tools whose calls an editor does not show: their argument is the answer."""
_STATUSES: dict[StepStatus, schema.PlanEntryStatus] = {
    "not_started": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "blocked": "pending",
}
_MAX_TITLE = 200


def describe_call(call_id: str, name: str, args: Any, root: Path) -> schema.ToolCallStart:
    """Return a call as an editor shows it: a title, and the diff or the file that it is about."""
    is_dict = isinstance(args, Mapping)
    values: Mapping[str, Any] = args if is_dict else {}
    kind = _KINDS.get(name, "other")
    path = (
        str(root / str(values["path"])) if name == "str_replace_editor" and "path" in values else ""
    )
    content = None
    if path and values.get("command") == "view":
        kind = "read"
    elif path:
        new = str(values.get("file_text") or values.get("new_str") or "")
        content = [helpers.tool_diff_content(path, new, values.get("old_str"))]
    return helpers.start_tool_call(
        call_id,
        flat(f"{name}: {main_argument(args)}")[:_MAX_TITLE].rstrip(": "),
        kind=kind,
        status="in_progress",
        content=content,
        locations=[schema.ToolCallLocation(path=path)] if path else None,
        raw_input=args,
    )


def describe_result(
    call_id: str, text: str, *, is_error: bool, keeps_content: bool = False
) -> schema.ToolCallProgress:
    """Return the end of a call. `keeps_content`: its diff says more than its result."""
    content = None if keeps_content else [helpers.tool_content(helpers.text_block(text))]
    status: schema.ToolCallStatus = "failed" if is_error else "completed"
    return helpers.update_tool_call(call_id, status=status, content=content)


class Updates:
    """The updates of one run. It remembers its calls and its plan."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._plan: Plan | None = None
        self.calls: dict[str, schema.ToolCallStart] = {}
        """The calls that have started, by id."""
        self._streamed = ""
        self.said = ""
        """The last text that the editor has received."""

    def read(self, mode: str, data: Any) -> Iterator[Any]:
        """Yield the updates for one part of a run's stream."""
        if mode == "messages":
            for _, kind, _, text in text_chunks(*data, "think"):
                if kind == "says":
                    self._streamed += text
                    yield helpers.update_agent_message_text(text)
                elif kind == "thinks":
                    yield helpers.update_agent_thought_text(text)
        elif isinstance(data, Mapping):
            yield from self._read_event(data)

    def _read_event(self, event: Mapping[str, Any]) -> Iterator[Any]:
        match event.get("type"):
            case "thought":
                yield from self._end_text(str(event["text"]))
            case "call" if event["name"] not in _HIDDEN and event["id"] not in self.calls:
                call = describe_call(event["id"], event["name"], event["args"], self._root)
                self.calls[event["id"]] = call
                yield call
            case "observation" if event["id"] in self.calls:
                keeps = bool(self.calls[event["id"]].content) and not event["is_error"]
                yield describe_result(
                    event["id"], event["text"], is_error=event["is_error"], keeps_content=keeps
                )
            case "plan":
                self._plan = event["plan"]
                yield self._describe_plan()
            case "plan_step" if self._plan is not None:
                self._plan["steps"][event["step"]]["status"] = event["status"]
                yield self._describe_plan()
            case "plan_action" | "delegate_action":
                yield from self._read_event(event["event"])

    def _end_text(self, text: str) -> Iterator[Any]:
        """Yield the text of a reply unless it was streamed: some servers send it whole."""
        if text.strip():
            self.said = text
            if not self._streamed.strip():
                yield helpers.update_agent_message_text(text)
        self._streamed = ""

    def _describe_plan(self) -> Any:
        assert self._plan is not None
        return describe_plan(self._plan)


def describe_plan(plan: Plan) -> Any:
    """Return the plan of a flow as an editor shows it."""
    entries = [
        helpers.plan_entry(step["text"], status=_STATUSES[step["status"]]) for step in plan["steps"]
    ]
    return helpers.update_plan(entries)
