"""Trying a model call again, after a wait, while what failed may pass."""

from __future__ import annotations

import asyncio
import email.utils
import logging
import math
import random
import re
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from manus.models.errors import Facts, explain
from manus.state.errors import ManusError, ModelUnavailableError
from manus.state.events import RetryEvent
from manus.state.model_settings import ModelSettings

log = logging.getLogger("manus")

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
"""Seconds between two tries, unless the server asks for a longer wait."""
_TRUSTED = 2
"""Tries before which a server's own wait is kept however short it is."""
_DELAY = re.compile(r"'retryDelay': '(\d+(?:\.\d+)?)s'")

T = TypeVar("T")
Tell = Callable[[RetryEvent], None]


async def with_retries(
    ask: Callable[[], Awaitable[T]], endpoint: ModelSettings, retry_for: float, tell: Tell | None
) -> T:
    """The reply, asked for again for so many seconds after the first failure that may pass.

    The waits grow, or are those that the server asks for. One that asks for a longer wait than
    there is time is not waited for.

    Raises:
        ModelError: it failed for good, or for all that time.
    """
    tries, ends = 0, math.inf
    while True:
        try:
            return await ask()
        except ManusError:
            raise
        except Exception as error:  # each client has its own, and lets through those of others
            failure = explain(error, endpoint)
            if not isinstance(failure, ModelUnavailableError):
                raise failure from error
            now = time.monotonic()
            ends = min(ends, now + retry_for)
            wait = _wait(error, tries)
            if now + wait > ends:
                raise failure from error
        tries += 1
        left = ends - now
        log.info("model call tried again in %.1f s, for %.0f s more: %s", wait, left, failure)
        if tell is not None:
            said = str(failure)
            tell(RetryEvent(type="retry", attempt=tries, wait=wait, left=left, reason=said))
        await asyncio.sleep(wait)


def _wait(error: BaseException, tries: int) -> float:
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2**tries)
    own = random.uniform(longest / 2, longest)
    if asked := server_wait(error):  # a time that is over is no wait
        asked += random.uniform(0, min(1.0, 0.1 * asked))
        return asked if tries < _TRUSTED else max(asked, own)
    return own


def server_wait(error: BaseException) -> float | None:
    """The seconds that the server asks to wait, in a header or Google's details; None for none."""
    of = Facts(error)
    if (milliseconds := _number(of.headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    given = of.headers.get("retry-after", "")
    if (seconds := _number(given)) is not None:
        return seconds
    try:
        return max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - time.time())
    except (ValueError, OverflowError):
        delay = _DELAY.search(str(of.told.get("details")))
        return float(delay[1]) if delay else None


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
