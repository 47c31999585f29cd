"""The format of an exported thread.

A zip file with `manifest.json`, `checkpoints.jsonl` (a checkpoint with its writes per line, the
oldest first), `archive.jsonl` (messages that compaction removed) and, on request, `files.jsonl`
with the entries of the workspace and `objects/ID` with their contents.

Values are MessagePack in LangGraph's form. Nothing in a file is a pickle, a function or a class
outside of the list of types that LangGraph considers safe.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from manus.state.errors import UsageError
from manus.threads.serializer import CompactSerializer

FORMAT = 1
"""Version of the format; increase it when an earlier release could misread a file."""
MANIFEST = "manifest.json"
CHECKPOINTS = "checkpoints.jsonl"
ARCHIVE = "archive.jsonl"
FILES = "files.jsonl"
OBJECTS = "objects/"
METADATA = ("graph", "profile", "workspace", "request", "started", "stood", "chosen")
"""Metadata of a checkpoint that a run sets as plain text."""
LANGGRAPH_METADATA = ("source", "step", "parents", "counters_since_delta_snapshot")
MARKS = ("journal", "compacted", "continues")
"""Metadata of a checkpoint that the graph and the store set."""
_KINDS = frozenset({"null", "bytes", "msgpack"})
_SERIALIZER = CompactSerializer()


def encode(value: Any, mask: Callable[[bytes], bytes]) -> list[str]:
    """Return a value as the name of its encoding and text."""
    kind, data = _SERIALIZER.dumps_plain(value)
    return [kind, base64.b64encode(mask(data)).decode()]


def decode(stored: Any) -> Any:
    """Return the value that was passed to `encode`.

    Raises:
        ValueError: it has another form.
        StorageError: it cannot be deserialized.
    """
    kind, text = stored
    if kind not in _KINDS or not isinstance(text, str):
        raise ValueError(f"a value is encoded as {kind!r}")
    return _SERIALIZER.loads_typed((kind, base64.b64decode(text, validate=True)))


def refuse(path: object, reason: str) -> UsageError:
    """Build the error for a file that is not a usable export."""
    return UsageError(f"Cannot import {path}: {reason}.")
