"""Render a file's numbered lines, an edit, an image or a folder. All functions are blocking."""

from __future__ import annotations

import base64
import difflib
import os
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path

from manus.calls.result import Image, Observation
from manus.state.errors import ToolError
from manus.tools.editor.editing import split_lines
from manus.workspace.safe_open import enter
from manus.workspace.text_encoding import TextFile

MAX_IMAGE = 5 * 2**20
"""Maximum size of an image, in bytes."""
_MAX_LINE_WIDTH = 1_000
"""Maximum number of characters of a line in a view of several lines."""
_CONTEXT_LINES = 3
"""Lines rendered before and after a change."""
_MAX_CHANGED_LINES = 40
"""Maximum number of rendered lines of a change."""
_FEW = 4
"""Maximum number of last lines that may exceed the room of a view a little."""
_MANY_PAGES = 3
"""With more pages left than this, a search is suggested and less of the file is shown."""
_MAX_ENTRIES = 100
"""Maximum number of entries of one folder."""
_MAX_SEARCHED = 5_000
_MAX_DEPTH = 8
"""Limits of the search for similar names: entries, and levels of folders."""


def number_lines(lines: Sequence[str], first: int, last: int, room: int) -> tuple[str, int]:
    """Return the lines `first` to `last` (from 1) with numbers, and the last one that fits.

    The result has about `room` characters at most; only very long lines are cut.
    """
    width = min(_MAX_LINE_WIDTH, max(room // 4, 80))
    if first == last:
        width = max(room - 80, 80)
    slack = room // 20  # rather than to stop a few lines before the end
    rendered: list[str] = []
    for number in range(first, last + 1):
        line = lines[number - 1].removesuffix("\n")
        text = f"{number:6}\t{line[:width]}"
        if len(line) > width:
            text += f" [… {len(line) - width:,} more characters of this line]"
        room -= len(text) + 1
        rest = sum(len(line) + 8 for line in lines[number:last]) if last - number < _FEW else slack
        if rendered and room < 0 and rest - room >= slack:
            return "\n".join(rendered), number - 1
        rendered.append(text)
    return "\n".join(rendered), last


def render_diff(before: str, after: str, room: int) -> str:
    """Render an edit like `diff -u`, from the first changed line to the last.

    Only these lines are compared, so that long files and many equal lines cost little.
    """
    old = split_lines(before)
    new = split_lines(after)
    above = _count_common_prefix(old, new)
    below = _count_common_prefix(old[above:][::-1], new[above:][::-1])
    begin = max(above - _CONTEXT_LINES, 0)
    left_out = max(below - _CONTEXT_LINES, 0)
    old = old[begin : len(old) - left_out]
    new = new[begin : len(new) - left_out]
    lines = list(difflib.unified_diff(old, new, n=len(old)))[3:]
    rendered = [f"@@ -{begin + 1},{len(old)} +{begin + 1},{len(new)} @@"]
    for line in lines[:_MAX_CHANGED_LINES]:
        content = line.removesuffix("\n")
        rendered.append(
            f"{content[:_MAX_LINE_WIDTH]}{'…' if len(content) > _MAX_LINE_WIDTH else ''}"
        )
        if not line.endswith("\n"):
            rendered.append("\\ No newline at end of file")
    if len(lines) > _MAX_CHANGED_LINES:
        rendered.append(f"[… {len(lines) - _MAX_CHANGED_LINES:,} more lines …]")
    return "\n".join(rendered)[:room]


def describe_changed_lines(before: str, after: str) -> str:
    """Name the lines of an edit by their new numbers: `lines 478–484`."""
    old = split_lines(before)
    new = split_lines(after)
    above = _count_common_prefix(old, new)
    below = _count_common_prefix(old[above:][::-1], new[above:][::-1])
    last = len(new) - below
    if last > above:
        return _name_lines(above + 1, last)
    removed = len(old) - below - above
    return f"{_name_lines(above + 1, above + removed)} removed"


def _name_lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}"


def _count_common_prefix(lines: Sequence[str], other_lines: Sequence[str]) -> int:
    """Count the equal lines at the start of both."""
    pairs = zip(lines, other_lines, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def render_text(label: str, file: TextFile, view_range: list[int] | None, room: int) -> str:
    """Render a file, or the lines of `view_range`, as many as fit.

    Raises:
        ToolError: the file lacks the requested lines.
    """
    lines = split_lines(file.text)
    if not lines:
        return f"{label} is empty."
    first, last = _resolve_range(view_range, len(lines), label)
    if view_range is None and len(file.text) > _MANY_PAGES * room:
        room //= _MANY_PAGES  # nobody reads such a file from its beginning
    text, last_shown = number_lines(lines, first, last, room)
    answer = [_render_title(label, file, first, last, len(lines)), text]
    if last_shown < last:
        following = min(last_shown * 2 - first + 1, last)
        search = ""
        if last - last_shown > _MANY_PAGES * (last_shown - first + 1):
            search = "find the place with a search such as `grep -n`, or "
        answer.append(
            f"[lines {last_shown + 1} to {last} are not shown; {search}see more with view_range "
            f"[{last_shown + 1}, {following}]]"
        )
    return "\n".join(answer)


def _resolve_range(view_range: list[int] | None, count: int, label: str) -> tuple[int, int]:
    if view_range is None:
        return 1, count
    if len(view_range) != 2:
        raise ToolError(
            "`view_range` must be two line numbers, the first and the last to show, such as "
            "[1, 50], or [50, -1] for all from line 50 on."
        )
    first = view_range[0]
    last = count if view_range[1] == -1 else min(view_range[1], count)
    if not 1 <= first <= count or last < first:
        raise ToolError(
            f"`view_range` {view_range} does not fit {label}, which has {count:,} lines: the first "
            f"number must be from 1 to {count}, and the second not less (-1 is the end)."
        )
    return first, last


def _render_title(label: str, file: TextFile, first: int, last: int, count: int) -> str:
    size = f"{count:,} line{'s' * (count != 1)}"
    if (first, last) != (1, count):
        selection = f"line {first}" if first == last else f"lines {first} to {last}"
        size = f"{selection} of {count:,}"
    facts = [size, *file.facts()]
    if not file.text.endswith("\n"):
        facts.append("no newline at the end")
    return f"{label} ({', '.join(facts)}):"


def render_picture(label: str, data: bytes, mime: str) -> Observation:
    """Return an image as an observation.

    Raises:
        ToolError: the image is too large.
    """
    if len(data) > MAX_IMAGE:
        raise ToolError(
            f"{label} is an image ({mime}) of {len(data):,} bytes, larger than the limit of "
            f"{MAX_IMAGE:,}; scale it down first."
        )
    image = Image(base64.b64encode(data).decode("ascii"), mime)
    return Observation(f"{label} is an image ({mime}, {len(data):,} bytes).", (image,))


def render_folder(folder: Path, label: str, room: int) -> str:
    """List the entries of a folder, two levels deep, one path per line, without hidden ones.

    Raises:
        OSError: the folder cannot be read.
    """
    name, prefix = ("The workspace", "") if label == "." else (label, f"{label}/")
    rendered = [f"{name}, 2 levels deep (hidden entries are not shown):"]
    lines = list_folder(folder, prefix, 2) or ["[no entries]"]
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            rendered.append(
                f"[{len(lines) - number} more lines are not shown; view a folder below]"
            )
            break
        rendered.append(line)
    return "\n".join(rendered)


def list_folder(folder: Path, prefix: str, depth: int) -> list[str]:
    """Return the visible entries of a folder, `depth` levels deep.

    Raises:
        OSError: the folder cannot be read.
    """
    with enter(folder) as at:
        return list(_iterate_entries(at, ".", prefix, depth))


def _iterate_entries(at: int, folder: str, prefix: str, depth: int) -> Iterator[str]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
    try:
        with os.scandir(descriptor) as scan:
            visible = [entry for entry in scan if not entry.name.startswith(".")]
        visible.sort(key=lambda entry: entry.name)
        for entry in visible[:_MAX_ENTRIES]:
            name = f"{prefix}{entry.name}"
            if entry.is_symlink():
                yield f"{name} -> {os.readlink(entry.name, dir_fd=descriptor)}"
            elif not entry.is_dir(follow_symlinks=False):
                yield name
            elif not os.access(entry.name, os.R_OK | os.X_OK, dir_fd=descriptor):
                yield f"{name}/ [cannot be read]"
            else:
                yield f"{name}/"
                if depth > 1:
                    yield from _iterate_entries(descriptor, entry.name, f"{name}/", depth - 1)
    finally:
        os.close(descriptor)
    if len(visible) > _MAX_ENTRIES:
        yield f"[{len(visible) - _MAX_ENTRIES:,} more entries in {prefix or './'}]"


def find_similar_names(root: Path, path: Path) -> list[str]:
    """Return up to three files of the workspace whose names resemble a missing path."""
    missing = str(path.relative_to(root))
    with enter(root) as at:
        names = list(islice(_iterate_entries(at, ".", "", _MAX_DEPTH), _MAX_SEARCHED))
    # a dangling link is listed too, but must not be suggested for itself
    candidates = [name for name in names if name.partition(" -> ")[0] != missing]
    same = [name for name in candidates if Path(name).name == path.name]
    return same[:3] or difflib.get_close_matches(missing, candidates, n=3, cutoff=0.7)
