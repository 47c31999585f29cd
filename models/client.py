"""The one place that asks a model: retries, fallbacks, recording, errors that a user can read."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from manus.models.endpoint_call import Question, ask_endpoint
from manus.models.endpoints import breaker
from manus.models.forecast import forecast
from manus.models.model_names import DEFAULT_MODEL, address_of
from manus.models.replies import check_filtered, check_said, check_whole, is_empty
from manus.models.reply_figures import Reply, with_figures, without_reply
from manus.models.retry import Tell, with_retries
from manus.models.stream_listener import listening, may_be_billed
from manus.nodes.active_run import Running
from manus.nodes.turn.usage_recorder import claim, count, drop
from manus.state.errors import ModelError, ModelRefusedError, ModelUnavailableError
from manus.state.events import RetryEvent
from manus.state.model_settings import ModelSettings

log = logging.getLogger("manus")

_BEFORE_FALLBACK = 2
"""Retries where another endpoint can be asked instead."""

__all__ = ["Reply", "Tell", "complete"]


async def complete(
    running: Running,
    role: str,
    request: Sequence[BaseMessage],
    *,
    tools: list[dict[str, Any]] | None = None,
    tool_choice: str = "auto",
    tell: Tell | None = None,
    quiet: bool = False,
) -> Reply:
    """Ask the model of a role.

    What may pass (429, 5xx, connection, time-out) is tried again after growing, jittered waits, or
    after the wait that the server asks for; what cannot (key, model name, request) is not. When an
    endpoint fails for good, the role's fallbacks are asked in their order. An empty reply is asked
    for again once. A `quiet` reply is not streamed: what the agent says to itself is not what it
    says to a person.

    Raises:
        BudgetError: the run's budget has no room for the call.
        ModelError: it failed for good; the message is a sentence for the user.
        SettingsError: no model is configured, or its package is missing.
    """
    exchange = _Exchange(running, role, request, tools, tool_choice, tell, quiet)
    chain = breaker.to_ask(running.model_settings(role).with_fallbacks())
    failures: list[ModelError] = []
    for place, endpoint in enumerate(chain):
        try:
            reply = await exchange.with_endpoint(endpoint, last=place == len(chain) - 1)
        except (ModelUnavailableError, ModelRefusedError) as error:
            breaker.failed(endpoint, error)
            failures.append(error)
            _tell_fallback(chain[place + 1 :], error, tell)
            continue
        breaker.worked(endpoint)
        return reply
    if len(failures) == 1:
        raise failures[0]
    said = " ".join(f"({n}) {failure}" for n, failure in enumerate(failures, start=1))
    raise type(failures[0])(f"None of {len(failures)} models could be asked: {said}")


def _tell_fallback(rest: Sequence[ModelSettings], error: ModelError, tell: Tell | None) -> None:
    if not rest:
        return
    reason = f"{error} Asking `{rest[0].model}` instead."
    log.warning("%s", reason)
    if tell is not None:
        tell(RetryEvent(type="retry", attempt=1, wait=0.0, reason=reason))


class _Exchange:
    """One request, and the endpoints that it may be sent to."""

    def __init__(
        self,
        running: Running,
        role: str,
        request: Sequence[BaseMessage],
        tools: list[dict[str, Any]] | None,
        tool_choice: str,
        tell: Tell | None,
        quiet: bool,
    ) -> None:
        self._running = running
        self._role = role
        self._request = request
        self._tools = tools
        self._tool_choice = tool_choice
        self._tell = tell
        self._question = Question(request, tools, tool_choice, quiet)

    async def with_endpoint(self, endpoint: ModelSettings, *, last: bool) -> Reply:
        """The reply of one endpoint; an empty one is asked for again once."""
        retries = endpoint.retries if last else min(endpoint.retries, _BEFORE_FALLBACK)
        reply = await self._reply(endpoint, retries)
        if not is_empty(reply.message) or self._tool_choice == "required":
            return reply
        log.info("the model's reply was empty; it is asked once more")
        again = await self._reply(endpoint, retries)
        check_said(again.message, **_names(endpoint))
        return again.after(reply)

    async def _reply(self, endpoint: ModelSettings, retries: int) -> Reply:
        running = self._running
        model = await running.model_at(self._role, endpoint)
        names = _names(endpoint)
        cut_off: list[AIMessage] = []
        replies: list[Reply] = []

        async def ask() -> AIMessage:
            reply = await self._paid(endpoint, model)
            replies.append(reply)
            check_filtered(reply.message, **names)
            check_whole(reply.message, cut_off, **names)
            return reply.message

        message = await with_retries(ask, retries, names, self._tell)
        if running.recorder is not None:
            recorder = running.recorder
            await asyncio.to_thread(recorder.add, self._role, self._request, message)
        return replies[-1]

    async def _paid(self, endpoint: ModelSettings, model: BaseChatModel) -> Reply:
        """One attempt. It needs room in the budget, also after one that failed and was paid for."""
        running = self._running
        told = forecast(running, endpoint, self._request, self._tools)
        aside = self._question.quiet
        async with running.purse.call(told.likely, told.most, on_the_side=aside) as paid:
            name = self._claim(endpoint)
            began = time.monotonic()
            with listening() as ear:
                try:
                    message = await ask_endpoint(model, endpoint, self._question)
                except BaseException as error:
                    if may_be_billed(error, ear):
                        broken = self._without_reply(endpoint, ear.said, time.monotonic() - began)
                        count(broken, name)
                        paid.append(broken)
                    else:
                        drop(name)
                    raise
            reply = self._with_figures(endpoint, message, time.monotonic() - began)
            count(reply, name)
            paid.append(reply)
            told.learn(running.calibration[endpoint.model or ""], reply)
        return reply

    def _claim(self, endpoint: ModelSettings) -> str | None:
        """Note the call before it is made, where a process that dies must not forget it."""
        if not self._running.purse.is_limited:
            return None
        return claim(self._without_reply(endpoint, "", 0.0))

    def _without_reply(self, endpoint: ModelSettings, said: str, seconds: float) -> Reply:
        """What is known of a call without a whole reply."""
        return without_reply(
            self._running, endpoint, self._role, said, self._request, self._tools, seconds
        )

    def _with_figures(self, endpoint: ModelSettings, message: AIMessage, seconds: float) -> Reply:
        """The reply with its figures: it is paid for, usable or not."""
        return with_figures(
            self._running, endpoint, self._role, message, self._request, self._tools, seconds
        )


def _names(endpoint: ModelSettings) -> dict[str, str]:
    """What the sentences on an endpoint call it."""
    return {"model": endpoint.model or DEFAULT_MODEL, "address": address_of(endpoint)}
