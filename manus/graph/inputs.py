"""What a caller gives to a run, brought into the form in which the graph takes it."""

from __future__ import annotations

import base64
import binascii
import itertools
import mimetypes
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langgraph.runtime import get_runtime
from pydantic import ValidationError

from manus.config.context import Context
from manus.config.settings import load_settings
from manus.execution.text_files import replace_file
from manus.execution.workspace import Workspace
from manus.models.providers import REPLAY
from manus.state.errors import UsageError
from manus.state.messages import append_messages
from manus.state.text import sanitize, sanitize_all
from manus.tools.web.parser import extract_pdf

NO_REQUEST = (
    "There is no request: give a text in `request`, or messages of which one is the user's."
)


def to_input(given: Any) -> Any:
    """The graph's input, with a request in words as a message of the user.

    Raises:
        UsageError: it holds no request.
    """
    if not isinstance(given, dict):
        return given
    values = {**given, "status": "running"}
    request = values.pop("request", None)
    messages = values.get("messages")
    if request is not None:
        if not isinstance(request, str) or not request.strip():
            raise UsageError(NO_REQUEST)
        before = messages if isinstance(messages, list) else []
        said = HumanMessage(sanitize(request), id=str(uuid.uuid4()))
        values["messages"] = [*map(_storable, before), said]
    elif not messages or not any(map(_asks_for_something, append_messages([], [messages]))):
        raise UsageError(NO_REQUEST)
    else:
        values["messages"] = _storable(messages)
    return values


def _storable(given: Any) -> Any:
    """Messages in any form, with text that every store can hold."""
    if isinstance(given, BaseMessage):
        return given.model_copy(update={"content": sanitize_all(given.content)})
    return [*map(_storable, given)] if isinstance(given, list) else sanitize_all(given)


def _asks_for_something(message: AnyMessage) -> bool:
    if not isinstance(message, HumanMessage):
        return False
    return bool(message.content.strip() if isinstance(message.content, str) else message.content)


def to_context(given: Any) -> Context:
    """The run's context from what the caller chose; an empty text counts as not given.

    Raises:
        UsageError: a choice is unknown or does not fit.
    """
    if isinstance(given, Context):
        return given
    try:
        return Context.model_validate(_chosen(given or {}))
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(str(part) for part in problem["loc"]) or "context"
        known = ", ".join(Context.model_fields)
        raise UsageError(
            f"The run's `{name}` does not fit: {problem['msg'][:1].lower()}{problem['msg'][1:]}. "
            f"There are: {known}."
        ) from None


def _chosen(given: Any) -> Any:
    """Without the boxes of a form that were left empty."""
    if isinstance(given, Mapping):
        return {name: _chosen(value) for name, value in given.items() if value != ""}
    return given


def outer_context() -> Any:
    """The context of the graph that a run is a node of."""
    try:
        runtime: Any = get_runtime()
    except (RuntimeError, KeyError):  # outside of any graph
        return None
    return getattr(runtime, "context", None)


def known_fields(context: Any) -> Any:
    """Of a context of another kind: the fields that ours has too."""
    if context is None or isinstance(context, Context):
        return context
    known = context if isinstance(context, Mapping) else vars(context)
    return {name: known[name] for name in Context.model_fields if known.get(name) is not None}


def served_root() -> Path:
    """Return the folder below which the server may work. Blocking.

    It is `MANUS_SERVED_ROOT`, else the folder of the configured workspace.
    """
    chosen = os.environ.get("MANUS_SERVED_ROOT") or load_settings(os.environ).workspace
    return Path(chosen).expanduser().resolve()


def check_served(context: Context) -> None:
    """Check the files that a request to the server names: only below `served_root`. Blocking.

    Raises:
        UsageError: one lies elsewhere.
    """
    root = served_root()
    named = {"workspace": context.workspace, "record": context.record}
    if (model := context.model or "").startswith(REPLAY):
        named["model"] = model.removeprefix(REPLAY)
    for name, path in named.items():
        if path and not Path(path).expanduser().resolve().is_relative_to(root):
            raise UsageError(
                f"The run's `{name}` lies outside of {root}: the server works only there "
                "(MANUS_SERVED_ROOT names another folder)."
            )


_FOLDER = "uploads"
_MOST_TEXT = 100_000
"""Characters of a PDF that the model is given at once; the rest it can read in the file."""


def with_uploads(given: Any, workspace: Workspace) -> Any:
    """The input of a run, with each file of its messages where the agent can use it. Blocking.

    Raises:
        UsageError: one cannot be decoded or written.
    """
    if not isinstance(given, dict) or not isinstance(given.get("messages"), list):
        return given
    return {**given, "messages": [_taken_up(m, workspace) for m in given["messages"]]}


def _taken_up(message: Any, workspace: Workspace) -> Any:
    is_dict = isinstance(message, dict)
    content = message.get("content") if is_dict else getattr(message, "content", None)
    if not isinstance(content, list):
        return message
    blocks = {"content": [_block(block, workspace) for block in content]}
    return {**message, **blocks} if is_dict else message.model_copy(update=blocks)


def _block(block: Any, workspace: Workspace) -> Any:
    if not isinstance(block, dict) or block.get("type") not in ("image", "file"):
        return block
    data = block.get("base64") or block.get("data")
    kind = block.get("mime_type") or block.get("mimeType")
    if not isinstance(data, str) or not isinstance(kind, str):
        return block
    if kind.startswith("image/"):
        return {"type": "image", "base64": data, "mime_type": kind}
    known = {**block, **(block.get("metadata") or {})}
    name = Path(str(known.get("name") or known.get("filename") or "")).name
    name = name or f"upload{mimetypes.guess_extension(kind) or ''}"
    try:
        file = base64.b64decode(data, validate=True)
        path = keep_upload(name, file, workspace)
    except (OSError, binascii.Error) as error:
        raise UsageError(f"The file `{name}` cannot be taken up: {error}.") from None
    return {"type": "text", "text": _said(path, kind, file)}


def keep_upload(name: str, data: bytes, workspace: Workspace) -> str:
    """Return the path in the workspace of an attached file, written if it is not there. Blocking.

    A file of the project that is attached is used where it is; any other goes into `uploads/`. No
    existing file is overwritten.

    Raises:
        ToolError, OSError: the file cannot be written.
    """
    name = Path(name).name or "file"
    if _has_content(workspace.root / name, data):
        return name
    stem = Path(name).stem
    suffix = Path(name).suffix
    numbered = (f"{stem}-{number}{suffix}" for number in itertools.count(2))
    for candidate in itertools.chain([name], numbered):
        shown = f"{_FOLDER}/{candidate}"
        path = workspace.writable(shown)
        if not path.exists():
            replace_file(path, data)
            return shown
        if _has_content(path, data):
            return shown
    raise AssertionError("unreachable: the names never end")


def _has_content(path: Path, data: bytes) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    return path.stat().st_size == len(data) and path.read_bytes() == data


def _said(path: str, kind: str, data: bytes) -> str:
    if kind != "application/pdf":
        return f"[The attached file is in the workspace: {path}]"
    try:
        text = extract_pdf(data)
    except ValueError as error:
        return f"[The attached file is in the workspace: {path}; {error}]"
    return f'<file name="{path}">\n{text[:_MOST_TEXT]}\n</file>'
