"""Files within messages, as chat UIs send them: pictures for the model, others in the workspace."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from pathlib import Path
from typing import Any

from manus.state.errors import UsageError
from manus.tools.editor.files import replace_file
from manus.tools.web.parser import pdf_text
from manus.tools.workspace import Workspace

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
        path = _written(name, file, workspace)
    except (OSError, binascii.Error) as error:
        raise UsageError(f"The file `{name}` cannot be taken up: {error}.") from None
    return {"type": "text", "text": _said(path, kind, file)}


def _written(name: str, data: bytes, workspace: Workspace) -> str:
    """The path of the file, in the workspace; another file of that name is left as it is."""
    stem, ending, number = Path(name).stem, Path(name).suffix, 1
    shown = f"{_FOLDER}/{name}"
    while (path := workspace.writable(shown)).exists() and path.read_bytes() != data:
        number += 1
        shown = f"{_FOLDER}/{stem}-{number}{ending}"
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, data)
    return shown


def _said(path: str, kind: str, data: bytes) -> str:
    if kind != "application/pdf":
        return f"[The attached file is in the workspace: {path}]"
    try:
        text = pdf_text(data)
    except ValueError as error:
        return f"[The attached file is in the workspace: {path}; {error}]"
    return f'<file name="{path}">\n{text[:_MOST_TEXT]}\n</file>'
