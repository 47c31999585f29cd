"""What goes along with a request: files of text within it, pictures beside it."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manus.state.errors import UsageError

_NAMED = re.compile(r"""(?<!\S)(@?)(?:'([^'\n]+)'|"([^"\n]+)"|((?:\\.|[^\s\\])+))""")
"""A word; quoted or with backslashes, as a terminal writes the path of a file dropped on it."""
_PICTURE = re.compile(r"\.(png|jpe?g|gif|webp)", re.IGNORECASE)
_LARGEST = 100_000
"""Bytes of a file that is attached whole; the agent reads a larger one where it needs it."""


def mentioned(text: str, folder: str) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The files of text that are named with an @, and the pictures that are named at all."""
    files, pictures = [], []
    for at, *names in _NAMED.findall(text):
        name = names[0] or names[1] or re.sub(r"\\(.)", r"\1", names[2]).rstrip(".,;:?!")
        path = Path(folder, name).expanduser()
        try:
            if not path.is_file():
                continue
            if _PICTURE.fullmatch(path.suffix):
                pictures.append(path)
            elif at and path.stat().st_size <= _LARGEST and b"\0" not in path.read_bytes():
                files.append(path)
        except OSError:  # too long for a path, or not to be read: it stays a word
            continue
    return tuple(files), tuple(pictures)


def with_files(request: str, files: Sequence[Path]) -> str:
    """The request with files attached as piped text is.

    Raises:
        UsageError: one cannot be read, or is no text.
    """
    parts = [request]
    for path in files:
        data = _read(path)
        if b"\0" in data:
            raise UsageError(f"{path} is no text; attach a picture with --image.")
        text = data.decode("utf-8", "replace").rstrip()
        parts.append(f'<file name="{path}">\n{text}\n</file>')
    return "\n\n".join(parts)


def given_of(request: str, images: Sequence[Path]) -> dict[str, Any]:
    """The input of a graph: the request in words, or as a message with pictures.

    Raises:
        UsageError: a picture cannot be read, or is none that models are shown.
    """
    from manus.tools.editor.files import image_type
    from manus.tools.result import Image

    if not images:
        return {"request": request}
    content: list[dict[str, Any]] = [{"type": "text", "text": request}]
    for path in images:
        data = _read(path)
        if (mime := image_type(data)) is None:
            said = "is no picture that a model is shown (PNG, JPEG, GIF or WebP)"
            raise UsageError(f"{path} {said}.")
        content.append(Image(base64.b64encode(data).decode(), mime).as_block())
    return {"messages": [{"role": "user", "content": content}]}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be attached ({error.strerror}).") from None
