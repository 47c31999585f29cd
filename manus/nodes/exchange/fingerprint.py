"""Fingerprint calls and their results, ignoring insignificant differences."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from typing import Any

from langchain_core.messages import ToolMessage

from manus.state.text import one_line

_EXACT = frozenset({"old_str", "new_str", "insert_text", "file_text", "code", "content"})
"""Arguments in which white space and letter case are significant."""
_SHELL = frozenset({"command", "cmd"})
_STDERR = re.compile(r"\s*2>&1")
_MAX_ARGUMENTS = 120
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
    """Return the fingerprint of a call.

    White space, letter case, the order of keys, shell comments and `2>&1` are ignored.
    """
    return _digest(json.dumps([name.lower(), _normalize(args)], sort_keys=True, default=str))


def result_fingerprint(message: ToolMessage, state: str | None = None) -> str:
    """Return the fingerprint of a call's result.

    `state`: the resulting state that the tool reports, such as a browser page. It replaces the text
    of the message, except that the text of an error is included.
    """
    text = str(message.text)
    images: Any = ""
    if state is None and not isinstance(message.content, str):
        images = message.content
    if state is not None and message.status == "error":
        text = f"{state}\n{text}"
    elif state is not None:
        text = state
    words = " ".join(hide_noise(text, " ").split())
    return _digest(f"{message.status} {words} {images}")


def hide_noise(text: str, placeholder: str) -> str:
    """Return a text without dates, clock times, durations, process ids and memory addresses."""
    return _NOISE.sub(placeholder, text)


def text_fingerprint(text: str) -> str:
    """Return the fingerprint of an assistant message without calls; empty if it is blank."""
    flat = " ".join(text.split())
    return _digest(flat) if flat else ""


def format_call(name: str, args: Any) -> str:
    """Format a call on one line, its arguments truncated."""
    return f"`{name}` with {one_line(str(args), _MAX_ARGUMENTS)}"


def _normalize(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _normalize(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_normalize(item, key) for item in value]
    if not isinstance(value, str) or key in _EXACT:
        return value
    if key in _SHELL:
        return [_shell_words(value)]
    return " ".join(value.casefold().split())


def _shell_words(command: str) -> list[str]:
    """Split a shell command into words, without comments."""
    bare = _STDERR.sub("", command)
    try:
        return shlex.split(bare, comments=True)
    except ValueError:  # an unclosed quote
        return bare.split()


def _digest(text: str) -> str:
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
