"""The one place that asks a model: retries, fallbacks, recording, errors that a user can read."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.constants import TAG_NOSTREAM

from nodes.blocks import as_text
from nodes.cache_marks import with_cache_marks
from nodes.endpoints import breaker
from nodes.malformed import with_malformed
from nodes.meter import count
from nodes.model_errors import explain
from nodes.models import DEFAULT_MODEL, address_of
from nodes.prompted_tools import has_no_tools, prompted, with_prompted_calls
from nodes.repair import with_repairs
from nodes.replies import check_filtered, check_whole, is_empty
from nodes.reply_figures import Reply, with_figures
from nodes.retries import Tell, with_retries
from nodes.running import Running
from state.errors import ModelError, ModelRefusedError, ModelUnavailableError
from state.events import RetryEvent
from state.messages import calls_of
from state.model_settings import ModelSettings, provider_of
from tools.clean import storable_all

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
        ModelError: it failed for good; the message is a sentence for the user.
        SettingsError: no model is configured, or its package is missing.
    """
    exchange = _Exchange(running, role, request, tools, tool_choice, tell, quiet)
    chain = breaker.usable(running.model_settings(role).with_fallbacks())
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
        self._quiet = quiet

    async def with_endpoint(self, endpoint: ModelSettings, *, last: bool) -> Reply:
        """The reply of one endpoint; an empty one is asked for again once."""
        retries = endpoint.retries if last else min(endpoint.retries, _BEFORE_FALLBACK)
        reply = await self._reply(endpoint, retries)
        if not is_empty(reply.message) or self._tool_choice == "required":
            return reply
        log.info("the model's reply was empty; it is asked once more")
        return (await self._reply(endpoint, retries)).after(reply)

    async def _reply(self, endpoint: ModelSettings, retries: int) -> Reply:
        running = self._running
        model = await running.model_at(self._role, endpoint)
        names = {"model": endpoint.model or DEFAULT_MODEL, "address": address_of(endpoint)}
        began = time.monotonic()
        cut_off: list[AIMessage] = []
        replies: list[Reply] = []

        async def ask() -> AIMessage:
            message = await self._ask(model, endpoint, names)
            replies.append(self._counted(endpoint, message, time.monotonic() - began))
            check_filtered(message, **names)
            check_whole(message, cut_off, **names)
            return message

        message = await with_retries(ask, retries, names, self._tell)
        if running.recorder is not None:
            recorder = running.recorder
            await asyncio.to_thread(recorder.add, self._role, self._request, message)
        return replies[-1]

    def _counted(self, endpoint: ModelSettings, message: AIMessage, seconds: float) -> Reply:
        """The reply with its figures, in the run's account: it is paid for, usable or not."""
        reply = with_figures(
            self._running, endpoint, self._role, message, self._request, self._tools, seconds
        )
        count(reply)
        return reply

    async def _ask(
        self, model: BaseChatModel, endpoint: ModelSettings, names: dict[str, str]
    ) -> AIMessage:
        if not self._tools or not breaker.is_prompted(endpoint):
            try:
                return await self._native(model, provider_of(endpoint.model))
            except Exception as error:
                refused = explain(error, **names)
                may_prompt = self._tools and endpoint.tool_calling == "auto"
                if not may_prompt or not isinstance(refused, ModelRefusedError):
                    raise
                if not has_no_tools(error):
                    raise
                log.info("the model has no tools; they are described to it in words")
                breaker.without_tools(endpoint)
        tools = self._tools or []
        reply = await model.ainvoke(prompted(self._request, tools), **self._extra())
        return _storable(with_repairs(with_prompted_calls(as_text(reply)), tools))

    async def _native(self, model: BaseChatModel, provider: str) -> AIMessage:
        extra = self._extra()
        if self._tools:
            extra["tools"] = self._tools
            if self._tool_choice == "required":
                extra["tool_choice"] = "required"
        request = with_cache_marks(self._request, provider)
        reply = with_malformed(as_text(await model.ainvoke(request, **extra)))
        return _storable(with_repairs(reply, self._tools or ()))

    def _extra(self) -> dict[str, Any]:
        return {"config": {"tags": [TAG_NOSTREAM]}} if self._quiet else {}


def _storable(message: AIMessage) -> AIMessage:
    message.content = storable_all(message.content)
    for call in calls_of(message):
        call.update(storable_all(call))
    return message
