"""Retry model calls with exponential backoff while a failure is transient."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
import re
import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import TypeVar

from langgraph.config import get_stream_writer

from manus.config.model_settings import ModelSettings
from manus.models.errors import ErrorFacts, ReplyFaultError, explain
from manus.state.errors import ManusError, ModelReplyError, ModelUnavailableError
from manus.state.events import RetryEvent

log = logging.getLogger("manus")

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
"""Seconds between two attempts, unless the server asks for a longer wait."""
REPLY_FAULT_TRIES = 3
"""Maximum number of complete replies that are none: further attempts do not help."""
_DELAY = re.compile(r"'retryDelay': '([\d.]+)s'")

T = TypeVar("T")


async def with_retries(
    ask: Callable[[], Awaitable[T]],
    endpoint: ModelSettings,
    retry_for: float,
) -> T:
    """Return the reply; retry for `retry_for` seconds after the first transient failure.

    Waits grow exponentially, or are those that the server asks for. If the server asks for a longer
    wait than the time left, the call fails immediately. Each retry emits an event.

    Raises:
        ModelError: the failure is permanent, or has lasted for the whole retry time.
        ModelReplyError: the server sent three complete replies that are none.
    """
    tries = 0
    deadline = math.inf
    faults = 0
    while True:
        try:
            return await ask()
        except ManusError:
            raise
        except Exception as error:  # each client has its own, and passes on those of its libraries
            failure = explain(error, endpoint)
            if not isinstance(failure, ModelUnavailableError):
                raise failure from error
            faults += isinstance(error, ReplyFaultError)
            if faults == REPLY_FAULT_TRIES:
                raise ModelReplyError(str(failure)) from error
            now = time.monotonic()
            deadline = min(deadline, now + retry_for)
            wait = _choose_wait(error, tries)
            if now + wait > deadline:
                raise failure from error
        tries += 1
        _report_retry(tries, wait, deadline - now, failure)
        await asyncio.sleep(wait)


def _report_retry(attempt: int, wait: float, seconds_left: float, failure: Exception) -> None:
    log.info("retrying the model call in %.1f s, %.0f s left: %s", wait, seconds_left, failure)
    event = RetryEvent(
        type="retry", attempt=attempt, wait=wait, left=seconds_left, reason=str(failure)
    )
    get_stream_writer()(event)


def _choose_wait(error: BaseException, tries: int) -> float:
    """Return the seconds that the server asks for, or the backoff if it is longer; with jitter."""
    backoff = min(LONGEST_WAIT, FIRST_WAIT * 2**tries)
    requested = server_wait(error)
    requested += random.uniform(0, min(1.0, 0.1 * requested))
    return max(random.uniform(backoff / 2, backoff), requested)


def server_wait(error: BaseException) -> float:
    """Return the seconds that the server asks to wait, in a header or Google's details; else 0."""
    facts = ErrorFacts(error)
    text = facts.headers.get("retry-after")
    if not text:
        delay = _DELAY.search(str(facts.details.get("details")))
        text = delay[1] if delay else ""
    try:
        return float(text)
    except ValueError:
        with contextlib.suppress(ValueError):  # a date?
            return parsedate_to_datetime(text).timestamp() - time.time()
    return 0.0
