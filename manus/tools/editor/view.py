"""What the model is shown: a file's numbered lines, a picture, a folder. All of it is blocking."""

from __future__ import annotations

import base64
import difflib
import os
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path

from manus.execution.result import Image, Observation
from manus.execution.safe_open import enter
from manus.execution.text_files import TextFile
from manus.state.errors import ToolError
from manus.tools.editor.editing import split_lines

MAX_IMAGE = 5 * 2**20
"""Size of the largest picture that is shown, in bytes."""
_WIDE = 1_000
"""Characters shown of a line that is not alone."""
_AROUND = 3
"""Lines shown before and after a change."""
_CHANGED = 40
"""Lines of a change that are shown, from its beginning."""
_EACH = 100
"""Entries shown of one folder."""
_SEARCHED = 5_000
_DEEP = 8
"""Entries looked at in search of a name, and so many levels of folders."""


def numbered(lines: Sequence[str], first: int, last: int, room: int) -> tuple[str, int]:
    """The lines `first` to `last` (from 1), numbered, and the last of them that found room.

    They are whole ones but for very long ones, at most about `room` characters.
    """
    wide = max(room - 80, 80) if first == last else min(_WIDE, max(room // 4, 80))
    shown: list[str] = []
    for number in range(first, last + 1):
        line = lines[number - 1].removesuffix("\n")
        piece = f"{number:6}\t{line[:wide]}"
        if len(line) > wide:
            piece += f" [… {len(line) - wide:,} more characters of this line]"
        room -= len(piece) + 1
        if shown and room < 0:
            return "\n".join(shown), number - 1
        shown.append(piece)
    return "\n".join(shown), last


def difference(before: str, after: str, room: int) -> str:
    """What an edit changed, as `diff -u` shows it, from the first line that changed to the last.

    Only these are compared, so that neither a long file nor one of many equal lines is a burden.
    """
    old = split_lines(before)
    new = split_lines(after)
    above = _alike(old, new)
    below = _alike(old[above:][::-1], new[above:][::-1])
    begin = max(above - _AROUND, 0)
    left_out = max(below - _AROUND, 0)
    old = old[begin : len(old) - left_out]
    new = new[begin : len(new) - left_out]
    lines = list(difflib.unified_diff(old, new, n=len(old)))[3:]
    shown = [f"@@ -{begin + 1},{len(old)} +{begin + 1},{len(new)} @@"]
    for line in lines[:_CHANGED]:
        whole = line.removesuffix("\n")
        shown.append(f"{whole[:_WIDE]}{'…' if len(whole) > _WIDE else ''}")
        if not line.endswith("\n"):
            shown.append("\\ No newline at end of file")
    if len(lines) > _CHANGED:
        shown.append(f"[… {len(lines) - _CHANGED:,} more lines …]")
    return "\n".join(shown)[:room]


def _alike(some: Sequence[str], others: Sequence[str]) -> int:
    """How many lines are the same from the beginning on."""
    pairs = zip(some, others, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def text_view(shown: str, file: TextFile, wanted: list[int] | None, room: int) -> str:
    """The lines of a file, or those from the first to the last wanted, as many as find room.

    Raises:
        ToolError: the wanted lines are not in the file.
    """
    lines = split_lines(file.text)
    if not lines:
        return f"{shown} is empty."
    first, last = _range(wanted, len(lines), shown)
    part, reached = numbered(lines, first, last, room)
    answer = [_title(shown, file, first, last, len(lines)), part]
    if reached < last:
        following = min(reached * 2 - first + 1, last)
        answer.append(
            f"[lines {reached + 1} to {last} are not shown; see more with view_range "
            f"[{reached + 1}, {following}]]"
        )
    return "\n".join(answer)


def _range(wanted: list[int] | None, count: int, shown: str) -> tuple[int, int]:
    if wanted is None:
        return 1, count
    if len(wanted) != 2:
        raise ToolError(
            "`view_range` must be two line numbers, the first and the last to show, such as "
            "[1, 50], or [50, -1] up to the end."
        )
    first = wanted[0]
    last = count if wanted[1] == -1 else min(wanted[1], count)
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
    if file.line_end == "\r\n":
        facts.append("lines end with CRLF")
    if not file.text.endswith("\n"):
        facts.append("no newline at the end")
    return f"{shown} ({', '.join(fact for fact in facts if fact)}):"


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


def folder_view(folder: Path, shown: str, room: int) -> str:
    """The entries of a folder, two levels deep, one path a line; hidden ones are left out.

    Raises:
        OSError: the folder cannot be read.
    """
    name, prefix = ("The workspace", "") if shown == "." else (shown, f"{shown}/")
    kept = [f"{name}, 2 levels deep (hidden entries are not shown):"]
    lines = listing(folder, prefix, 2) or ["[it has no entries]"]
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            kept.append(f"[{len(lines) - number} more lines are not shown; view a folder below]")
            break
        kept.append(line)
    return "\n".join(kept)


def listing(folder: Path, prefix: str, depth: int) -> list[str]:
    """The visible entries of a folder and of those in it, so many levels deep.

    Raises:
        OSError: the folder cannot be read.
    """
    with enter(folder) as at:
        return list(_entries(at, ".", prefix, depth))


def _entries(at: int, folder: str, prefix: str, depth: int) -> Iterator[str]:
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
    try:
        with os.scandir(here) as found:
            visible = sorted(
                (entry for entry in found if not entry.name.startswith(".")),
                key=lambda entry: entry.name,
            )
        for entry in visible[:_EACH]:
            name = f"{prefix}{entry.name}"
            if entry.is_symlink():
                yield f"{name} -> {os.readlink(entry.name, dir_fd=here)}"
            elif not entry.is_dir(follow_symlinks=False):
                yield name
            elif not os.access(entry.name, os.R_OK | os.X_OK, dir_fd=here):
                yield f"{name}/ [cannot be read]"
            else:
                yield f"{name}/"
                if depth > 1:
                    yield from _entries(here, entry.name, f"{name}/", depth - 1)
    finally:
        os.close(here)
    if len(visible) > _EACH:
        yield f"[{len(visible) - _EACH:,} more entries in {prefix or './'}]"


def near_names(root: Path, path: Path) -> list[str]:
    """Files of the workspace that may have been meant by a path that is not there."""
    wanted = str(path.relative_to(root))
    with enter(root) as at:
        names = list(islice(_entries(at, ".", "", _DEEP), _SEARCHED))
    # not itself: a link that leads nowhere
    found = [name for name in names if name.partition(" -> ")[0] != wanted]
    same = [name for name in found if Path(name).name == path.name]
    return same[:3] or difflib.get_close_matches(wanted, found, n=3, cutoff=0.7)
