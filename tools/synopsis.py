"""What a long text is made of, in a few lines: JSON, a table, a log or source code.

The kind is told from the content alone, and only where it is certain: a wrong guess would be worse
than none. Each kind looks at a bounded part of the text and says so where that is not all of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from manus.tools.synopsis_code import code_outline
from manus.tools.synopsis_json import json_lines_shape, json_shape
from manus.tools.synopsis_log import log_figures
from manus.tools.synopsis_table import headed_table, plain_table

LONGEST = 160
"""Characters of one line of a synopsis."""

# What `bash` and `python_execute` add at the end is no part of the text.
_ENDING = re.compile(r"\n\[(?:exit code|killed by|stopped:)[^\n]*\]\Z")
_ENDS = 600
"""Characters of the end in which it is looked for."""

Describe = Callable[[str, int], list[str]]

# A table with a header comes before a log, since its first column may be a time; one without a
# header after it, since the parts of a log's lines may be separated evenly.
_KINDS: tuple[Describe, ...] = (
    json_shape,
    json_lines_shape,
    headed_table,
    log_figures,
    plain_table,
    code_outline,
)


def synopsis(text: str, room: int) -> str:
    """The synopsis of a text, at most `room` characters; empty where its kind is not certain.

    Takes a second or two for 50 MB. Blocking.
    """
    text = text.removeprefix("\ufeff")
    body = text[: len(text) - _ENDS] + _ENDING.sub("", text[-_ENDS:]) if len(text) > _ENDS else text
    for describe in _KINDS:
        if lines := describe(body, room):
            return fitted(lines, room)
    return ""


def fitted(lines: Sequence[str], room: int) -> str:
    """The lines that find room, and a line that says how many did not."""
    shown = [line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in lines]
    if sum(map(len, shown)) + len(shown) - 1 <= room:
        return "\n".join(shown)
    kept: list[str] = []
    left = room - len(_more(len(lines)))
    for line in shown:
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join([*kept, _more(len(shown) - len(kept))]) if kept else ""


def _more(count: int) -> str:
    return f"  … {count:,} more lines of this synopsis"
