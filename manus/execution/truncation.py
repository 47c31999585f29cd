"""Truncate a text for the model to its beginning and end, and store all of it in a file."""

from __future__ import annotations

import hashlib

from manus.execution.safe_open import look_at, write_private
from manus.execution.workspace import OBSERVATIONS, Workspace
from manus.prompts.sources import framed, is_outside

HEAD = 0.6
"""Share of the limit that goes to the beginning."""
HEAD_OF_OUTPUT = 0.25
"""The share for output of programs and failures, whose result is at the end."""


def truncate(
    text: str,
    limit: int,
    workspace: Workspace,
    *,
    head: float = HEAD,
    reason: str = "left out",
    source: str = "",
) -> str:
    """Truncate a text to `limit` characters. Blocking if it is too long.

    The file is named by a hash of its content, so equal texts give equal results and loop detection
    still works. Text from an untrusted `source` is framed in the file too.
    """
    if len(text) <= limit:
        return text
    location = f"{reason}; {_store(text, workspace, source)}"
    room = max(limit - len(_format_note(len(text), len(text), location)) - 2, 0)
    first = text[: int(room * head)]
    last = text[len(text) - room + len(first) :]
    return "\n".join(
        (first, _format_note(len(text) - len(first) - len(last), len(text), location), last)
    )


def _store(text: str, workspace: Workspace, source: str) -> str:
    """Store the whole text; describe where it is."""
    framed_text = framed(text, source) if is_outside(source) else text
    data = framed_text.encode("utf-8", "surrogatepass")
    name = f"{OBSERVATIONS}/{hashlib.sha256(data).hexdigest()[:12]}.txt"
    path = workspace.root / name
    try:
        if look_at(path) is None:
            write_private(path, data)
    except OSError as error:
        return f"it could not be kept in a file: {error.strerror}"
    return f"all {len(text):,} are in {name}"


def _format_note(left_out: int, total: int, location: str) -> str:
    return f"[… {left_out:,} of {total:,} characters {location} …]"
