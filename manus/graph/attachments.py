"""Attach files to a request.

A command or the page attaches files of this machine: their text becomes part of the request, images
become blocks of its message. A message from another client contains files as blocks: they are saved
in the workspace when the run starts.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import mimetypes
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manus.calls.result import Image
from manus.state.errors import UsageError
from manus.state.request import Request
from manus.state.taint import Exposure, request_fields
from manus.tools.web.parser import extract_pdf
from manus.workspace.file_names import find_look_alikes
from manus.workspace.text_encoding import decode
from manus.workspace.text_files import image_type, replace_file
from manus.workspace.workspace import Workspace

_WORD = re.compile(r"""(?<!\S)(@?)(?:'([^'\n]+)'|"([^"\n]+)"|((?:\\.|[^\s\\])+))""", re.ASCII)
"""A word, possibly quoted or escaped as terminals write the path of a dropped file."""
_PUNCTUATION = ".,;:?!\u00a0\u202f"
_IMAGE_SUFFIX = re.compile(r"\.(png|jpe?g|gif|webp)", re.IGNORECASE)
_MAX_TEXT_FILE = 100_000
"""Bytes. A larger text file is not attached; the agent can read parts of it."""
_MAX_PDF_TEXT = 100_000
"""Characters of a PDF in the message; the agent can read the rest in the file."""
_UPLOADS = "uploads"
"""Folder in the workspace for attached files that are not already in it."""


def find_mentioned_files(text: str, folder: str) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the text files named with an @, and all images named in the text."""
    files = []
    images = []
    for at, *names in _WORD.findall(text):
        name = names[0] or names[1] or re.sub(r"\\(.)", r"\1", names[2]).rstrip(_PUNCTUATION)
        path = Path(folder, name).expanduser()
        is_image = _IMAGE_SUFFIX.fullmatch(path.suffix)
        try:
            if (at or is_image) and not path.is_file():
                [path] = find_look_alikes(Path(path.anchor), path.absolute()) or [path]
            if not path.is_file():
                continue
            if is_image:
                images.append(path)
            elif at and path.stat().st_size <= _MAX_TEXT_FILE and decode(path.read_bytes()):
                files.append(path)
        except (OSError, ValueError):  # invalid, ambiguous or not readable: leave it as a word
            continue
    return tuple(files), tuple(images)


def attach_files(request: Request, files: Sequence[Path], trusted: Path | None = None) -> Request:
    """Append text files to a request, in the form used for piped text.

    Files inside the `trusted` folder do not taint the request.

    Raises:
        UsageError: a file cannot be read or is not text.
    """
    parts = [request.text]
    is_tainted = request.is_tainted
    for path in files:
        file = decode(_read(path))
        if file is None:
            raise UsageError(f"{path} is not a text file; attach an image with --image.")
        parts.append(f'<file name="{path}">\n{file.text.rstrip()}\n</file>')
        is_tainted = is_tainted or not _is_in(path, trusted)
    return Request("\n\n".join(parts), request.user_text, is_tainted)


def _is_in(path: Path, folder: Path | None) -> bool:
    return folder is not None and path.resolve().is_relative_to(folder.resolve())


def build_input(request: Request, images: Sequence[Path] = ()) -> dict[str, Any]:
    """Return the graph input for a request, with images from files.

    Raises:
        UsageError: an image cannot be read or has an unsupported format.
    """
    return build_message(request, [*map(_image_block, images)])


def build_message(request: Request, images: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the graph input for a request: plain text, or a message with its attachments."""
    if not images and request.text == request.user_text:
        return {"request": request.text}
    content: Any = request.text
    if images:
        content = [{"type": "text", "text": request.text}, *images]
    exposure = Exposure(request.is_tainted or bool(images), private=True)
    metadata = request_fields(request.user_text, exposure)
    return {"messages": [{"role": "user", "content": content, "additional_kwargs": metadata}]}


def _image_block(path: Path) -> dict[str, Any]:
    data = _read(path)
    mime = image_type(data)
    if mime is None:
        raise UsageError(f"{path} is not a supported image; use PNG, JPEG, GIF or WebP.")
    return Image(base64.b64encode(data).decode(), mime).as_block()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"Cannot attach {path} ({error.strerror}).") from None


def with_uploads(graph_input: Any, workspace: Workspace) -> Any:
    """Return the input of a run with its attached files saved in the workspace. Blocking.

    Raises:
        UsageError: a file cannot be decoded or written.
    """
    if not isinstance(graph_input, dict) or not isinstance(graph_input.get("messages"), list):
        return graph_input
    messages = [_save_attachments(message, workspace) for message in graph_input["messages"]]
    return {**graph_input, "messages": messages}


def _save_attachments(message: Any, workspace: Workspace) -> Any:
    is_dict = isinstance(message, dict)
    content = message.get("content") if is_dict else getattr(message, "content", None)
    if not isinstance(content, list):
        return message
    blocks = {"content": [_save_block(block, workspace) for block in content]}
    return {**message, **blocks} if is_dict else message.model_copy(update=blocks)


def _save_block(block: Any, workspace: Workspace) -> Any:
    if not isinstance(block, dict) or block.get("type") not in ("image", "file"):
        return block
    data = block.get("base64") or block.get("data")
    kind = block.get("mime_type") or block.get("mimeType")
    if not isinstance(data, str) or not isinstance(kind, str):
        return block
    if kind.startswith("image/"):
        return {"type": "image", "base64": data, "mime_type": kind}
    metadata = {**block, **(block.get("metadata") or {})}
    name = Path(str(metadata.get("name") or metadata.get("filename") or "")).name
    name = name or f"upload{mimetypes.guess_extension(kind) or ''}"
    try:
        file = base64.b64decode(data, validate=True)
        path = keep_upload(name, file, workspace)
    except (OSError, binascii.Error) as error:
        raise UsageError(f"Cannot save the attached file `{name}`: {error}.") from None
    return {"type": "text", "text": _describe_file(path, kind, file)}


def keep_upload(name: str, data: bytes, workspace: Workspace) -> str:
    """Save an attached file in the workspace and return its path. Blocking.

    An attached file of the project is used where it is; any other is saved in `uploads/`. No
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
        relative = f"{_UPLOADS}/{candidate}"
        path = workspace.writable(relative)
        if not path.exists():
            replace_file(path, data)
            return relative
        if _has_content(path, data):
            return relative
    raise AssertionError("unreachable: the names never end")


def _has_content(path: Path, data: bytes) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    return path.stat().st_size == len(data) and path.read_bytes() == data


def _describe_file(path: str, kind: str, data: bytes) -> str:
    if kind != "application/pdf":
        return f"[The attached file is in the workspace: {path}]"
    try:
        text = extract_pdf(data)
    except ValueError as error:
        return f"[The attached file is in the workspace: {path}; {error}]"
    return f'<file name="{path}">\n{text[:_MAX_PDF_TEXT]}\n</file>'
