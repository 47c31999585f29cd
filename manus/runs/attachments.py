"""What goes along with a request: files of text within it, pictures beside it."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
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
    files = []
    pictures = []
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


@dataclass(frozen=True, slots=True)
class Request:
    """A request with what is attached to it."""

    text: str
    """All that the model reads."""
    words: str
    """What the user has written of it: only this names hosts and files to be written."""
    is_tainted: bool = False
    """Whether the rest is untrusted text."""

    def __bool__(self) -> bool:
        return bool(self.text)


def typed(text: str) -> Request:
    """Return a request that the user has written as a whole."""
    return Request(text, text)


def with_files(request: Request, files: Sequence[Path], trusted: Path | None = None) -> Request:
    """Return the request with files attached as piped text is.

    What comes from the `trusted` folder is not untrusted text.

    Raises:
        UsageError: one cannot be read, or is no text.
    """
    parts = [request.text]
    is_tainted = request.is_tainted
    for path in files:
        data = _read(path)
        if b"\0" in data:
            raise UsageError(f"{path} is no text; attach a picture with --image.")
        text = data.decode("utf-8", "replace").rstrip()
        parts.append(f'<file name="{path}">\n{text}\n</file>')
        is_tainted = is_tainted or not _is_in(path, trusted)
    return Request("\n\n".join(parts), request.words, is_tainted)


def _is_in(path: Path, folder: Path | None) -> bool:
    return folder is not None and path.resolve().is_relative_to(folder.resolve())


def given_of(request: Request, images: Sequence[Path] = ()) -> dict[str, Any]:
    """Return the input of a graph: the request in words, or as a message that says more of it.

    Raises:
        UsageError: a picture cannot be read, or is none that models are shown.
    """
    from manus.state.taint import passed_on

    if not images and request.text == request.words:
        return {"request": request.text}
    content: Any = request.text
    if images:
        content = [{"type": "text", "text": request.text}, *map(_picture, images)]
    about = passed_on(request.words, tainted=request.is_tainted or bool(images))
    return {"messages": [{"role": "user", "content": content, "additional_kwargs": about}]}


def _picture(path: Path) -> dict[str, Any]:
    from manus.execution.result import Image
    from manus.execution.text_files import image_type

    data = _read(path)
    mime = image_type(data)
    if mime is None:
        raise UsageError(f"{path} is no picture that a model is shown (PNG, JPEG, GIF or WebP).")
    return Image(base64.b64encode(data).decode(), mime).as_block()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be attached ({error.strerror}).") from None
