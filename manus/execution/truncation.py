"""A text too long for the model: its beginning, its end, and the file that holds all of it."""

from __future__ import annotations

import hashlib

from manus.execution.safe_open import look_at, write_private
from manus.execution.workspace import OBSERVATIONS, Workspace
from manus.prompts.sources import framed, is_outside

HEAD = 0.6
"""Share of the room that goes to the beginning."""
HEAD_OF_OUTPUT = 0.25
"""The same for what programs print, and for what failed: how it came out is said last."""


def truncate(
    text: str,
    limit: int,
    workspace: Workspace,
    *,
    head: float = HEAD,
    what: str = "left out",
    source: str = "",
) -> str:
    """The text, at most `limit` characters of it. Blocking when it has to be cut.

    The file is named by its content: the same text leads to the same words, so that a loop can
    still be seen in it. What comes from an outside `source` has its frame in the file, too.
    """
    if len(text) <= limit:
        return text
    kept = f"{what}; {_keep(text, workspace, source)}"
    room = max(limit - len(_note(len(text), len(text), kept)) - 2, 0)
    first = text[: int(room * head)]
    last = text[len(text) - room + len(first) :]
    return "\n".join((first, _note(len(text) - len(first) - len(last), len(text), kept), last))


def _keep(text: str, workspace: Workspace, source: str) -> str:
    """Where the whole text is, in words."""
    whole = framed(text, source) if is_outside(source) else text
    data = whole.encode("utf-8", "surrogatepass")
    name = f"{OBSERVATIONS}/{hashlib.sha256(data).hexdigest()[:12]}.txt"
    path = workspace.root / name
    try:
        if look_at(path) is None:
            write_private(path, data)
    except OSError as error:
        return f"it could not be kept in a file: {error.strerror}"
    return f"all {len(text):,} are in {name}"


def _note(left_out: int, whole: int, kept: str) -> str:
    return f"[… {left_out:,} of {whole:,} characters {kept} …]"
