"""An observation too long for the model: cut in the middle, the whole of it in a file."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from manus.tools.graphemes import beginning, ending
from manus.tools.workspace import OBSERVATIONS, Workspace

_HEAD = 0.6
"""Share of the room that goes to the beginning; the end often holds the error."""
_LINE = 200
"""Characters given up at most so that a piece ends, or begins, with a whole line."""
_SYNOPSIS = 0.5
"""Share of the limit that a synopsis may take."""
_ENOUGH = 1_000
"""A limit below which there is no room for a synopsis."""


def cut_observation(text: str, limit: int, workspace: Workspace) -> str:
    """The text, at most `limit` characters of it. Blocking when it has to be cut.

    A synopsis of the whole comes first where its kind is certain: JSON, a table, a log, code. The
    file is named by its content: the same observation leads to the same words, so that a circle
    can still be seen in it.
    """
    if len(text) <= limit:
        return text
    kept = f"left out; {_keep(text, workspace)}"
    about = _about(text, limit)
    return about + "\n".join(_ends(text, limit - len(about), kept))


def cut_argument(text: str, limit: int, workspace: Workspace) -> str:
    """An argument of a call as a later request shows it, at most `limit` characters. Blocking.

    No synopsis stands in it: it would read like a part of what was said in the call.
    """
    if len(text) <= limit:
        return text
    kept = f"left out here, not in the call; {_keep(text, workspace)}"
    return "\n".join(_ends(text, limit, kept))


def _ends(text: str, limit: int, kept: str) -> tuple[str, str, str]:
    """Beginning, note and end, with at most so many characters."""
    room = max(limit - len(_note(len(text), len(text), kept)) - 2, 0)
    head = _whole_lines(beginning(text, int(room * _HEAD)))
    tail = _from_whole_line(ending(text, room - int(room * _HEAD)))
    return head, _note(len(text) - len(head) - len(tail), len(text), kept), tail


def _about(text: str, limit: int) -> str:
    """What the whole text is made of; nothing where that is not certain."""
    if limit < _ENOUGH:
        return ""
    from manus.tools.synopsis import synopsis  # most observations need none

    found = synopsis(text, int(limit * _SYNOPSIS) - len(_FRAME))
    return _FRAME.format(found) if found else ""


_FRAME = "[Synopsis of the whole] {}\n[Its beginning and its end]\n"


def _keep(text: str, workspace: Workspace) -> str:
    """Where the whole text is, in words."""
    data = text.encode("utf-8", "surrogatepass")
    name = f"{OBSERVATIONS}/{hashlib.sha256(data).hexdigest()[:12]}.txt"
    try:
        _write_once(workspace.root / name, data)
    except OSError as error:
        return f"it could not be kept in a file: {error.strerror}"
    return f"all {len(text):,} are in {name}"


def _write_once(path: Path, data: bytes) -> None:
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        fresh.write_bytes(data)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _note(left_out: int, whole: int, kept: str) -> str:
    return f"[… {left_out:,} of {whole:,} characters {kept} …]"


def _whole_lines(head: str) -> str:
    end = head.rfind("\n")
    return head[:end] if end >= len(head) - _LINE and end > 0 else head


def _from_whole_line(tail: str) -> str:
    begin = tail.find("\n")
    return tail[begin + 1 :] if 0 <= begin < min(_LINE, len(tail) - 1) else tail
