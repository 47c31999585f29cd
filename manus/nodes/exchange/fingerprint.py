"""Fingerprints of calls and of what came of them, without what says nothing."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from typing import Any

from langchain_core.messages import ToolMessage

from manus.state.text import one_line

_WRITTEN = frozenset({"old_str", "new_str", "insert_text", "file_text", "code", "content"})
"""Arguments in which each blank and each letter's case counts."""
_SHELL = frozenset({"command", "cmd"})
_STDERR = re.compile(r"\s*2>&1")
_SHOWN = 120
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_NOISE = re.compile(
    "|".join(
        (
            r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?",
            rf"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?{_MONTH}\s+\d{{1,2}}\b(?:,?\s+\d{{4}}\b)?",
            rf"\b\d{{1,2}}\s+{_MONTH}\b(?:\s+\d{{4}}\b)?",
            r"\b\d{1,2}/\d{1,2}/\d{2,4}\b",
            r"(?<![\w.:])\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?![\w:])(?:\s?[AaPp][Mm]\b)?",
            r"\b(?:\d+h\s?)?(?:\d+m\s?)?\d+(?:\.\d+)?\s?"
            r"(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?|hours?)\b",
            r"\b(?:pid|process)\W{0,3}\d+\b",
            r"^\[\d+\]\s+\d+$",  # a shell's background job
            r"\b0x[0-9a-fA-F]+\b",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)
"""Dates, clock times, durations, process ids, memory addresses."""


def call_fingerprint(name: str, args: Any) -> str:
    """Of a call: white space, letter case, key order, shell comments and `2>&1` do not count."""
    return _digest(json.dumps([name.lower(), _folded(args)], sort_keys=True, default=str))


def result_fingerprint(message: ToolMessage, told: str | None = None) -> str:
    """Of what came of a call: what the tool told of it, else what its message says."""
    said = str(message.text)
    if told is not None:  # an error's words count beside what the page shows
        said = f"{told}\n{said}" if message.status == "error" else told
    bare = " ".join(_NOISE.sub(" ", said).split())
    pictures = "" if told is not None or isinstance(message.content, str) else message.content
    return _digest(f"{message.status} {bare} {pictures}")


def text_fingerprint(text: str) -> str:
    """Of what an assistant message without calls says; nothing of one that says nothing."""
    flat = " ".join(text.split())
    return _digest(flat) if flat else ""


def shown_call(name: str, args: Any) -> str:
    """A call in a few words."""
    return f"`{name}` with {one_line(str(args), _SHOWN)}"


def _folded(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _folded(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_folded(item, key) for item in value]
    if not isinstance(value, str) or key in _WRITTEN:
        return value
    return [_words(value)] if key in _SHELL else " ".join(value.casefold().split())


def _words(command: str) -> list[str]:
    """The words of a shell command, without comments."""
    bare = _STDERR.sub("", command)
    try:
        return shlex.split(bare, comments=True)
    except ValueError:  # a quote is left open
        return bare.split()


def _digest(text: str) -> str:
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
