"""Trying a model call again, after a wait, while what failed may pass."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from typing import cast

from langchain_core.messages import AIMessage
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from manus.models.errors import attempts_for, explain, is_never_connected, may_pass
from manus.models.retry_after import server_wait
from manus.state.errors import ManusError, ModelError
from manus.state.events import RetryEvent

log = logging.getLogger("manus")

FIRST_WAIT = 0.5
FIRST_WAIT_UNCONNECTED = 0.1
"""Seconds, where nobody listens: a server that comes up is given a moment, no more."""
LONGEST_WAIT = 60.0
"""Seconds. A server that asks for a longer wait is not waited for."""

Tell = Callable[[RetryEvent], None]


async def with_retries(
    ask: Callable[[], Awaitable[AIMessage]], retries: int, names: dict[str, str], tell: Tell | None
) -> AIMessage:
    """The reply, asked for again after growing waits, or after those that the server asks for.

    Raises:
        ModelError: it failed for good.
    """
    failed: list[ManusError] = []

    async def attempt() -> AIMessage:
        if failed:
            raise failed.pop()
        try:
            return await ask()
        except ManusError:
            raise
        except Exception as error:
            raise explain(error, **names) from error

    try:  # nearly always the first attempt is enough, and needs none of what follows
        return await attempt()
    except ManusError as error:
        failed.append(error)
    return await _retrying(retries, tell)(attempt)


def _retrying(retries: int, tell: Tell | None) -> AsyncRetrying:
    def enough(state: RetryCallState) -> bool:
        error = _failure(state)
        wait = server_wait(_cause(error))
        too_long = wait is not None and wait > LONGEST_WAIT
        return too_long or state.attempt_number >= attempts_for(_cause(error), retries + 1)

    def before_sleep(state: RetryCallState) -> None:
        event = RetryEvent(
            type="retry",
            attempt=state.attempt_number,
            wait=state.next_action.sleep if state.next_action else 0.0,
            reason=str(_failure(state)),
        )
        log.info("model call tried again in %.1f s: %s", event["wait"], event["reason"])
        if tell is not None:
            tell(event)

    return AsyncRetrying(
        retry=retry_if_exception(may_pass),
        stop=enough,
        wait=_wait,
        before_sleep=before_sleep,
        reraise=True,
    )


def _failure(state: RetryCallState) -> ModelError:
    return cast(ModelError, state.outcome.exception() if state.outcome else ModelError())


def _cause(error: BaseException) -> Exception:
    return cast(Exception, error.__cause__ or error)


def _wait(state: RetryCallState) -> float:
    asked = server_wait(_cause(_failure(state)))
    if asked:  # nothing, or a time that is over, is no wait: all tries would be made at once
        return asked + random.uniform(0, 0.1 * asked)
    unconnected = is_never_connected(_cause(_failure(state)))
    first = FIRST_WAIT_UNCONNECTED if unconnected else FIRST_WAIT
    longest = min(LONGEST_WAIT, first * 2 ** (state.attempt_number - 1))
    return random.uniform(longest / 2, longest)
