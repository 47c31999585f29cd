"""Truncate a text for the model to its beginning and end, and store all of it in a file."""

from __future__ import annotations

import hashlib
import re
from string import ascii_letters, digits

from manus.prompts.sources import COMMAND, MCP, framed, is_outside
from manus.workspace.safe_open import look_at, write_private
from manus.workspace.workspace import OBSERVATIONS, Workspace

HEAD = 0.6
"""Fraction of the limit that is used for the beginning."""
HEAD_OF_OUTPUT = 0.25
"""The fraction for output of programs and failures, whose result is at the end."""
_EXCERPT_TOKENS = 1_000
"""Maximum number of tokens shown of a flood of output, which is stored in a file."""
_DENSE_SHARE = 0.6
"""Fraction of the limit by which output that does not repeat itself, such as source, exceeds it."""
_LOSS = 0.5
"""Characters less that are shown for each character beyond that size, down to a flood's."""
_VARIABLE = re.compile(r"\b[0-9a-f]{6,}\b|\d+")
"""Matches the parts in which the repeated lines of a log differ."""
_TOKEN = re.compile(r"[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]|\n+")
"""Matches about one token: numbers and symbols have far more tokens than words of equal length."""
_IN_WORD = frozenset(f"{ascii_letters}{digits}_.,+-")
"""Characters between which a text is not cut, so that no number appears to be a shorter one."""


def max_tokens_for(source: str) -> int | None:
    """Return how many tokens of a text that is too long are shown; None if only its size counts.

    The output of a program is rarely written to be read as a whole, and its file can be searched.
    """
    return _EXCERPT_TOKENS if source == COMMAND or source.startswith(MCP) else None


def truncate(
    text: str,
    limit: int,
    workspace: Workspace,
    *,
    head: float = HEAD,
    reason: str = "left out",
    source: str = "",
    max_tokens: int | None = None,
    output: str = "",
) -> str:
    """Truncate a text to `limit` characters and about `max_tokens`. Blocking if it is too long.

    If a text contains the `output` of a program, only the output is stored in the file.

    A text within `limit` stays whole; with `max_tokens` also a longer one that does not repeat
    itself, and of a text beyond that the less is shown the longer it is, so that one character more
    changes little. It is cut at the ends of lines, or of words in long lines.

    The file is named by a hash of its content, so equal texts give equal results and loop detection
    still works. Text from an untrusted `source` is framed in the file too.
    """
    whole = limit
    if max_tokens is not None:
        whole += int(limit * _DENSE_SHARE * _measure_novelty(text))
    if len(text) <= whole:
        return text
    offset = text.find(output.removesuffix("\n")) if output.strip() else -1
    stored = text if offset < 0 else output
    location = f"of {len(stored):,} characters {reason}; {_store(stored, workspace, source)}"
    lines_before = text.count("\n", 0, max(offset, 0))
    longest_note = _format_note(text, 0, len(text), location, source, 0)
    room = max(limit - len(longest_note) - 2, 0)
    size = int(room * head)
    rest = room - size
    if max_tokens is not None:
        kept = whole - int((len(text) - whole) * _LOSS) - len(longest_note)
        flood = _size_of_tokens(text[:size], max_tokens * head)
        flood_end = _size_of_tokens(text[len(text) - rest :][::-1], max_tokens * (1 - head))
        size = max(flood, int(kept * head))
        rest = max(flood_end, int(kept * (1 - head)))
    end = _find_cut_before(text, size)
    start = _find_cut_after(text, len(text) - rest)
    note = _format_note(text, end, start, location, source, lines_before)
    return "\n".join((text[:end], note, text[start:]))


def _measure_novelty(text: str) -> float:
    """Return how little a text repeats itself: 0 for one line over and over, 1 for source code."""
    lines = [_VARIABLE.sub("0", line.strip()) for line in text.split("\n")]
    total = sum(map(len, lines))
    return min(1.0, sum(map(len, set(lines))) / max(total, 1) / _DENSE_SHARE)


def _size_of_tokens(text: str, tokens: float) -> int:
    """Return the number of characters in the first tokens of a text."""
    for count, match in enumerate(_TOKEN.finditer(text), start=1):
        if count > tokens:
            return match.start()
    return len(text)


def _find_cut_before(text: str, index: int) -> int:
    """Return where to cut a text at or before an index: at the end of a line or a word."""
    lowest = index // 2
    line_end = text.rfind("\n", lowest, index + 1)
    if line_end >= 0:
        return line_end
    for position in range(index, lowest, -1):
        if not _is_in_word(text, position):
            return position
    return index


def _find_cut_after(text: str, index: int) -> int:
    """Return where to continue a text at or after an index: at the start of a line or a word."""
    highest = (index + len(text)) // 2
    line_end = text.find("\n", max(index - 1, 0), highest)
    if line_end >= 0:
        return line_end + 1
    for position in range(index, highest):
        if not _is_in_word(text, position):
            return position
    return index


def _is_in_word(text: str, position: int) -> bool:
    return text[position - 1] in _IN_WORD and text[position : position + 1] in _IN_WORD


def _store(text: str, workspace: Workspace, source: str) -> str:
    """Store the whole text; return a description of where it is."""
    framed_text = framed(text, source) if is_outside(source) else text
    data = framed_text.encode("utf-8", "surrogatepass")
    name = f"{OBSERVATIONS}/{hashlib.sha256(data).hexdigest()[:12]}.txt"
    path = workspace.root / name
    try:
        if look_at(path) is None:
            write_private(path, data)
    except OSError as error:
        return f"it could not be stored in a file: {error.strerror}"
    return f"all {len(text):,} are in {name}"


def _format_note(
    text: str, end: int, start: int, location: str, source: str, lines_before: int
) -> str:
    """Return the line that replaces the omitted part, with the numbers of its lines in the file.

    The file starts after the first `lines_before` lines of the text.
    """
    first = max(text.count("\n", 0, end + 1) + 1 - lines_before, 1)
    last = text.count("\n", 0, start) - lines_before
    lines = f"lines {first:,}–{last:,}: " if first < last and not is_outside(source) else ""
    return f"[… {lines}{start - end:,} {location} …]"
