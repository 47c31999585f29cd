"""Trying a model call again, after a wait, while what failed may pass."""

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
from manus.models.errors import Facts, NoChoicesError, explain
from manus.state.errors import ManusError, ModelReplyError, ModelUnavailableError
from manus.state.events import RetryEvent

log = logging.getLogger("manus")

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
"""Seconds between two tries, unless the server asks for a longer wait."""
NO_CHOICES_TRIES = 3
"""Replies without choices after which the server is not asked again: it is there, and has none."""
_DELAY = re.compile(r"'retryDelay': '([\d.]+)s'")

T = TypeVar("T")


async def with_retries(
    ask: Callable[[], Awaitable[T]], endpoint: ModelSettings, retry_for: float
) -> T:
    """The reply, asked for again for so many seconds after the first failure that may pass.

    The waits grow, or are those that the server asks for. One that asks for a longer wait than
    there is time is not waited for. Whoever watches the run is told of each.

    Raises:
        ModelError: it failed for good, or for all that time.
        ModelReplyError: the server sent three replies without choices.
    """
    tries = 0
    ends = math.inf
    without_choices = 0
    while True:
        try:
            return await ask()
        except ManusError:
            raise
        except Exception as error:  # each client has its own, and lets through those of others
            failure = explain(error, endpoint)
            if not isinstance(failure, ModelUnavailableError):
                raise failure from error
            without_choices += isinstance(error, NoChoicesError)
            if without_choices == NO_CHOICES_TRIES:
                raise ModelReplyError(str(failure)) from error
            now = time.monotonic()
            ends = min(ends, now + retry_for)
            wait = _wait(error, tries)
            if now + wait > ends:
                raise failure from error
        tries += 1
        left = ends - now
        log.info("model call tried again in %.1f s, for %.0f s more: %s", wait, left, failure)
        said = RetryEvent(type="retry", attempt=tries, wait=wait, left=left, reason=str(failure))
        get_stream_writer()(said)
        await asyncio.sleep(wait)


def _wait(error: BaseException, tries: int) -> float:
    """What the server asks for; at least one of our own, which grows."""
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2**tries)
    asked = server_wait(error)
    asked += random.uniform(0, min(1.0, 0.1 * asked))
    return max(random.uniform(longest / 2, longest), asked)


def server_wait(error: BaseException) -> float:
    """The seconds that the server asks to wait, in a header or in Google's details; 0 for none."""
    of = Facts(error)
    delay = _DELAY.search(str(of.told.get("details")))
    given = of.headers.get("retry-after") or (delay[1] if delay else "")
    try:
        return float(given)
    except ValueError:
        with contextlib.suppress(ValueError):  # a date?
            return parsedate_to_datetime(given).timestamp() - time.time()
    return 0.0
