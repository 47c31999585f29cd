"""Attach text files and images to a request."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manus.state.errors import UsageError

_WORD = re.compile(r"""(?<!\S)(@?)(?:'([^'\n]+)'|"([^"\n]+)"|((?:\\.|[^\s\\])+))""")
"""A word, possibly quoted or escaped as terminals write the path of a dropped file."""
_IMAGE_SUFFIX = re.compile(r"\.(png|jpe?g|gif|webp)", re.IGNORECASE)
_MAX_TEXT_FILE = 100_000
"""Bytes. A larger text file is not attached; the agent can read parts of it."""


def find_mentioned_files(text: str, folder: str) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the text files named with an @, and all images named in the text."""
    files = []
    images = []
    for at, *names in _WORD.findall(text):
        name = names[0] or names[1] or re.sub(r"\\(.)", r"\1", names[2]).rstrip(".,;:?!")
        path = Path(folder, name).expanduser()
        try:
            if not path.is_file():
                continue
            if _IMAGE_SUFFIX.fullmatch(path.suffix):
                images.append(path)
            elif at and path.stat().st_size <= _MAX_TEXT_FILE and b"\0" not in path.read_bytes():
                files.append(path)
        except OSError:  # not a valid path, or not readable: leave it as a word
            continue
    return tuple(files), tuple(images)


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its attachments."""

    text: str
    """The text the model reads, attached files included."""
    user_text: str
    """The part the user wrote. Only hosts and files named here count as named by the user."""
    is_tainted: bool = False
    """Whether the attached part is untrusted text."""

    def __bool__(self) -> bool:
        return bool(self.text)


def typed_request(text: str) -> Request:
    """Return a request without attachments."""
    return Request(text, text)


def attach_files(request: Request, files: Sequence[Path], trusted: Path | None = None) -> Request:
    """Append text files to a request, in the form used for piped text.

    Files inside the `trusted` folder do not taint the request.

    Raises:
        UsageError: a file cannot be read or is not text.
    """
    parts = [request.text]
    is_tainted = request.is_tainted
    for path in files:
        data = _read(path)
        if b"\0" in data:
            raise UsageError(f"{path} is not a text file; attach an image with --image.")
        text = data.decode("utf-8", "replace").rstrip()
        parts.append(f'<file name="{path}">\n{text}\n</file>')
        is_tainted = is_tainted or not _is_in(path, trusted)
    return Request("\n\n".join(parts), request.user_text, is_tainted)


def _is_in(path: Path, folder: Path | None) -> bool:
    return folder is not None and path.resolve().is_relative_to(folder.resolve())


def build_input(request: Request, images: Sequence[Path] = ()) -> dict[str, Any]:
    """Return the graph input for a request: plain text, or a message with its attachments.

    Raises:
        UsageError: an image cannot be read or has an unsupported format.
    """
    from manus.state.taint import request_fields

    if not images and request.text == request.user_text:
        return {"request": request.text}
    content: Any = request.text
    if images:
        content = [{"type": "text", "text": request.text}, *map(_image_block, images)]
    metadata = request_fields(request.user_text, tainted=request.is_tainted or bool(images))
    return {"messages": [{"role": "user", "content": content, "additional_kwargs": metadata}]}


def _image_block(path: Path) -> dict[str, Any]:
    from manus.execution.result import Image
    from manus.execution.text_files import image_type

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
