"""A file as the model is shown it: numbered lines, a picture, or a refusal that says what it is."""

from __future__ import annotations

import base64
import mimetypes

from manus.state.errors import ToolError
from manus.tools.editor.editing import line_end, split_lines
from manus.tools.editor.numbered import numbered
from manus.tools.editor.text_file import TextFile, decode
from manus.tools.result import Image, Observation

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
MAX_IMAGE = 5 * 2**20
"""Size of the largest picture that is shown, in bytes."""


def image_type(data: bytes) -> str | None:
    """The media type of a picture that models can be shown: png, jpeg, gif or webp; else None."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _IMAGES if data.startswith(start)), None)


def text_of(shown: str, data: bytes) -> TextFile:
    """The text of a file.

    Raises:
        ToolError: it is binary; says what it is and how large.
    """
    mime = image_type(data)
    # a PDF may look like text at its beginning
    file = None if mime or data.startswith(b"%PDF-") else decode(data)
    if file is None:
        kind = mime or mimetypes.guess_type(shown)[0] or "unknown type"
        raise ToolError(
            f"{shown} is a binary file ({kind}, {len(data):,} bytes), "
            "which cannot be shown or edited as text; use a program that knows its format."
        )
    return file


def text_view(shown: str, file: TextFile, wanted: list[int] | None, room: int) -> str:
    """The lines of a file, or those from the first to the last wanted, as many as find room.

    Raises:
        ToolError: the wanted lines are not in the file.
    """
    lines = split_lines(file.text)
    if not lines:
        return f"{shown} is empty."
    first, last = _range(wanted, len(lines), shown)
    part = numbered(lines, first, last, room)
    notes = []
    if part.last < last:
        following = min(part.last * 2 - first + 1, last)
        notes.append(
            f"[lines {part.last + 1} to {last} are not shown; see more with view_range "
            f"[{part.last + 1}, {following}]]"
        )
    if part.cut:
        notes.append(_how_to_see(part.cut, shown, room, alone=first == last))
    return "\n".join([_title(shown, file, first, last, len(lines)), part.text, *notes])


def picture(shown: str, data: bytes, mime: str) -> Observation:
    """A picture.

    Raises:
        ToolError: it is too large.
    """
    if len(data) > MAX_IMAGE:
        raise ToolError(
            f"{shown} is a picture ({mime}) of {len(data):,} bytes and only those of up to "
            f"{MAX_IMAGE:,} are shown; make a smaller one of it first."
        )
    image = Image(base64.b64encode(data).decode("ascii"), mime)
    return Observation(f"{shown} is a picture ({mime}, {len(data):,} bytes).", (image,))


def _range(wanted: list[int] | None, count: int, shown: str) -> tuple[int, int]:
    if wanted is None:
        return 1, count
    if len(wanted) != 2:
        raise ToolError(
            "`view_range` must be two line numbers, the first and the last to show, such as "
            "[1, 50], or [50, -1] up to the end."
        )
    first, last = wanted[0], count if wanted[1] == -1 else min(wanted[1], count)
    if not 1 <= first <= count or last < first:
        raise ToolError(
            f"`view_range` {wanted} does not fit {shown}, which has {count:,} lines: the first "
            f"number must be from 1 to {count}, and the second not below it (-1 is the end)."
        )
    return first, last


def _title(shown: str, file: TextFile, first: int, last: int, count: int) -> str:
    part = f"{count:,} line{'s' * (count != 1)}"
    if (first, last) != (1, count):
        some = f"line {first}" if first == last else f"lines {first} to {last}"
        part = f"{some} of {count:,}"
    facts = [part, file.form()]
    if line_end(file.text) == "\r\n":
        facts.append("lines end with CRLF")
    if not file.text.endswith("\n"):
        facts.append("no newline at the end")
    return f"{shown} ({', '.join(fact for fact in facts if fact)}):"


def _how_to_see(cut: list[int], shown: str, room: int, *, alone: bool) -> str:
    if alone:
        part = f"cut -c {room}-{2 * room}"
        return f"[for the rest use a command, such as `sed -n {cut[0]}p '{shown}' | {part}`]"
    return f"[long lines are cut; see more of one with view_range [{cut[0]}, {cut[0]}]]"
