"""`str_replace_editor`: view files and folders, create and edit files, undo edits."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Approval, Arguments
from manus.calls.result import Observation
from manus.calls.session import Resource
from manus.prompts.sources import WORKSPACE
from manus.state.errors import ToolError
from manus.tools.editor.editor import Editor
from manus.workspace import workspace
from manus.workspace.protected_names import is_protected
from manus.workspace.text_files import as_text, read_file

_TITLE_ROOM = 600
"""Characters reserved for the text around the lines of a view."""


class StrReplaceEditorArgs(Arguments):
    """Arguments of `str_replace_editor`."""

    command: Literal["view", "create", "str_replace", "insert", "undo_edit"] = Field(
        description="What to do"
    )
    path: str = Field(description="Preferably relative to the workspace")
    file_text: str | None = Field(None, description="`create`: the whole text of the file")
    old_str: str | None = Field(
        None,
        description="`str_replace`: the exact text, with enough lines around it to be unique",
    )
    new_str: str | None = Field(
        None,
        description="`str_replace`: the new text (default: none); `insert`: the lines",
    )
    insert_line: int | None = Field(
        None, description="`insert`: the line to insert after; 0 for the top"
    )
    view_range: list[int] | None = Field(
        None, description="`view`: first and last line, such as [1, 50]; -1 for the end"
    )

    @override
    @classmethod
    def tidy(cls, arguments: Any) -> Any:
        """Normalize arguments, also the range of a view in the form of other editors."""
        tidied = super().tidy(arguments)
        if isinstance(tidied, dict) and {"start_line", "end_line"} & tidied.keys():
            view_range = [tidied.pop("start_line", 1), tidied.pop("end_line", -1)]
            tidied.setdefault("view_range", view_range)
        return tidied


class StrReplaceEditor(AgentTool):
    """The file editor."""

    name: str = "str_replace_editor"
    description: str = (
        "View and edit files in the workspace. `view` shows a file with line numbers, which are "
        "not part of it, an image, or a folder two levels deep; `create` writes a whole file; "
        "`str_replace` replaces a text that occurs exactly once; `insert` adds lines; "
        "`undo_edit` undoes the last edit of the file."
    )
    example: ClassVar[dict[str, Any] | None] = {
        "command": "str_replace",
        "path": "a.py",
        "old_str": "x = 1",
        "new_str": "x = 2",
    }
    args_schema: type[BaseModel] = StrReplaceEditorArgs
    uses: ClassVar[str] = workspace.WORKSPACE  # a call without a path may use any file
    channels: ClassVar[frozenset[str]] = frozenset({"changed_files"})
    editing_commands: ClassVar[frozenset[str]] = frozenset({"str_replace", "insert", "undo_edit"})

    @override
    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        resource = self.session.workspace.resource(args["path"])
        return frozenset({Resource(resource, write=args["command"] != "view")})

    @override
    def read_only(self, args: dict[str, Any]) -> bool:
        return bool(args["command"] == "view")

    @override
    def approval(self, args: dict[str, Any]) -> Approval:
        """Return the approval by the file's path in the workspace, with links resolved."""
        workspace = self.session.workspace
        path = str(args.get("path"))
        with contextlib.suppress(ToolError, ValueError, OSError):  # the call itself reports it
            path = workspace.show(workspace.readable(path))
        is_change = args.get("command") != "view" and is_protected(path)
        return Approval(f"{path} configures other programs" if is_change else "", (path,))

    @override
    def preview(self, args: dict[str, Any]) -> str:
        old = args.get("old_str") or ""
        new = args.get("new_str") or ""
        if args.get("command") == "create":
            old = self._read_existing(args)
            new = args.get("file_text") or ""
        lines = difflib.unified_diff(str(old).splitlines(), str(new).splitlines(), lineterm="", n=3)
        header = str(args.get("command"))
        if args.get("insert_line") is not None:
            header += f" {args['insert_line']}"
        header += f" {args.get('path')}"
        return "\n".join([header, *list(lines)[2:]])

    def _read_existing(self, args: dict[str, Any]) -> str:
        workspace = self.session.workspace
        try:
            real = workspace.readable(str(args.get("path")))
            return as_text(args["path"], read_file(real, args["path"]), real).text
        except (ToolError, OSError):  # it does not exist yet, or is not text
            return ""

    @override
    async def observe(self, **arguments: Any) -> Observation:
        request = StrReplaceEditorArgs.model_construct(**arguments)
        observation = await asyncio.to_thread(self._carry_out, request)
        changed = {} if request.command == "view" else {"changed_files": [request.path]}
        return replace(observation, source=WORKSPACE, update=changed)

    def _carry_out(self, request: StrReplaceEditorArgs) -> Observation:
        workspace = self.session.workspace
        is_view = request.command == "view"
        try:
            # so that the observation is not truncated later
            room = max(self.session.settings.max_observe - _TITLE_ROOM, 200)
            creates = request.command == "create"
            editor = Editor(workspace, request.path, room, writes=not is_view, creates=creates)
            with nullcontext() if is_view else workspace.exclusive(editor.real):
                observation = _run_command(editor, request)
            note = workspace.describe_name(request.path, editor.real)
            return replace(observation, text=f"{observation.text}{note}")
        except OSError as error:
            operation = "read" if is_view else "change"
            reason = error.strerror or type(error).__name__
            raise ToolError(f"Cannot {operation} {request.path}: {reason}.") from None


def _run_command(editor: Editor, request: StrReplaceEditorArgs) -> Observation:
    match request.command:
        case "view":
            return editor.view(request.view_range)
        case "create":
            return editor.create(_require(request, "file_text"))
        case "str_replace":
            return editor.replace(_require(request, "old_str"), request.new_str or "")
        case "insert":
            return editor.insert(_require(request, "insert_line"), _require(request, "new_str"))
        case _:
            return editor.undo()


def _require(request: StrReplaceEditorArgs, name: str) -> Any:
    """Return a required argument of the command."""
    value = getattr(request, name)
    if value is None:
        raise ToolError(f"`{request.command}` needs `{name}`.")
    return value
