"""How long a server asks to wait: in its headers, or in the words of its error."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from manus.models.error_facts import headers_of, message_of, status_of, told

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNIT = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)"
_SPAN = rf"\d+(?:\.\d+)?\s*{_UNIT}"
_DURATION = rf"{_SPAN}(?:\s*{_SPAN})*"
_PART = re.compile(rf"(\d+(?:\.\d+)?)\s*({_UNIT})", re.IGNORECASE)
_WHOLE = re.compile(rf"\s*{_DURATION}\s*", re.IGNORECASE)
_IN_WORDS = re.compile(
    rf"\b(?:try again|retry|wait)\s+(?:(?:in|after|for)\s+)?({_DURATION})(?!\w)", re.IGNORECASE
)
_LIMITS = re.compile(r"(?:x-|anthropic-)?ratelimit-(?:reset(?:-.+)?|.+-reset)")
_IN_BODY = {
    "retry_after": 1.0,
    "retryAfter": 1.0,
    "retry_after_seconds": 1.0,
    "retry_after_ms": 0.001,
}
_EPOCH = 1e9
"""A larger number is a time and not a duration; a thousand times larger, one in milliseconds."""


def server_wait(error: BaseException) -> float | None:
    """The seconds that the server asks to wait, or None if it does not say.

    What it asks for outright (`Retry-After`, Google's `RetryInfo`, words in the message) counts
    before what can be told from its limits, which come with refusals for their rate (429) alone.
    """
    headers = headers_of(error)
    asked = (_retry_after(headers), _retry_info(error), _in_body(error), _in_words(error))
    for found in asked:
        if found is not None:
            return found
    return _reset({**headers, **_upstream(error)}) if status_of(error) == 429 else None


def _upstream(error: BaseException) -> Mapping[str, str]:
    """Headers of the provider behind OpenRouter, which it hands on in the body."""
    behind = told(error).get("metadata")
    headers = behind.get("headers") if isinstance(behind, dict) else None
    if not isinstance(headers, dict):
        return {}
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _retry_after(headers: Mapping[str, str]) -> float | None:
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    return _until(headers.get("retry-after"))


def retry_details(error: BaseException) -> list[dict[str, Any]]:
    """What Google says beside its message, a list of typed details."""
    details = told(error).get("details")
    return [d for d in details if isinstance(d, dict)] if isinstance(details, list) else []


def _retry_info(error: BaseException) -> float | None:
    delays = (detail.get("retryDelay") for detail in retry_details(error))
    return next((seconds_of(delay) for delay in delays if isinstance(delay, str)), None)


def _in_body(error: BaseException) -> float | None:
    """`retry_after` beside the message, or in what stands there of the provider behind."""
    words = told(error)
    behind = words.get("metadata")
    for place in (words, behind if isinstance(behind, dict) else {}):
        for name, unit in _IN_BODY.items():
            if isinstance(value := place.get(name), str | int | float) and value is not True:
                wait = _until(str(value))
                return None if wait is None else wait * unit
    return None


def _in_words(error: BaseException) -> float | None:
    found = _IN_WORDS.search(message_of(error))
    return seconds_of(found[1]) if found else None


def _reset(headers: Mapping[str, str]) -> float | None:
    """Until the limits that are used up are there again; else until the first of them is."""
    used_up: list[float] = []
    others: list[float] = []
    for name, value in headers.items():
        found = _LIMITS.fullmatch(name)
        if found is None or (wait := _until(value)) is None:
            continue
        left = _number(headers.get(_remaining(name)))
        (used_up if left == 0 else others).append(wait)
    return max(used_up) if used_up else min(others, default=None)


def _remaining(name: str) -> str:
    head, _, tail = name.rpartition("reset")
    return f"{head}remaining{tail}"


def _until(value: str | None) -> float | None:
    """The seconds of a duration, or until a time."""
    if not value:
        return None
    if (number := _number(value)) is not None:
        return _from_epoch(number) if number >= _EPOCH else number
    if (seconds := seconds_of(value)) is not None:
        return seconds
    times = (_timestamp(read, value) for read in (_rfc_3339, _http_date))
    at = next((at for at in times if at is not None), None)
    return None if at is None else max(0.0, at - time.time())


def _from_epoch(number: float) -> float:
    return max(0.0, (number / 1000 if number >= 1000 * _EPOCH else number) - time.time())


def _timestamp(read: Any, value: str) -> float | None:
    try:
        return float(read(value).timestamp())
    except (ValueError, OverflowError):
        return None


def _rfc_3339(value: str) -> datetime:
    return datetime.fromisoformat(value)


def _http_date(value: str) -> datetime:
    return email.utils.parsedate_to_datetime(value)


def seconds_of(text: str) -> float | None:
    """The seconds of `20ms`, `1.2s`, `6m0s`, `1h2m3s` or `37 seconds`; None for anything else."""
    return sum(_parts(text)) if _WHOLE.fullmatch(text) else None


def _parts(text: str) -> Iterable[float]:
    for number, unit in _PART.findall(text):
        small = unit.lower().startswith(("ms", "mil"))
        yield float(number) * _UNITS["ms" if small else unit[0].lower()]


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
