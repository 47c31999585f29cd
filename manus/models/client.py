"""The one place that asks a model: fallbacks, retries, budget, recording, figures."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langgraph.config import get_stream_writer

from manus.config.model_settings import ModelSettings, Price
from manus.models.budget import RunBudget
from manus.models.endpoint_call import Question, ask_endpoint
from manus.models.providers import DEFAULT_MODEL, address_of, build_model, endpoint_of
from manus.models.recording import Recorder
from manus.models.retry import with_retries
from manus.models.tokens import (
    TOKENS,
    cache_tokens,
    calibrated,
    estimate_message,
    estimate_request,
    window_of,
)
from manus.models.window_watch import check_reply, compare, look_up_window, warn_of_small_window
from manus.models.wrapped import chat_model_in
from manus.state.errors import (
    BudgetError,
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelReplyError,
    ModelUnavailableError,
)
from manus.state.events import RetryEvent
from manus.state.messages import CUT_OFF, ended_at_limit, is_empty, reason_of
from manus.state.usage import Spending

log = logging.getLogger("manus")

_BEFORE_FALLBACK = 3.0
"""Seconds for which an endpoint is tried again where another one can be asked instead."""
_FILTERED = re.compile(
    "content_filter|refusal|safety|sensitive|prohibited|guardrail|recitation|blocklist|spii"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply and what it used."""

    message: AIMessage
    used: Spending
    seconds: float


@dataclass(slots=True)
class ModelClient:
    """Asks the models of one run."""

    chain_of: Callable[[str], list[ModelSettings]]
    """The endpoint of a role, and those that are asked after it."""
    price_of: Callable[[str], Price | None]
    workspace: Path
    budget: RunBudget
    recorder: Recorder | None = None
    calibration: dict[str, float] = field(default_factory=dict)
    """What estimates of tokens are multiplied by, by model."""
    built: dict[ModelSettings, BaseChatModel] = field(default_factory=dict)
    given: Runnable[Any, Any] | None = None
    """A chat model that the caller has made, with whatever is wrapped around it."""

    def window(self, role: str) -> int:
        """Return the context window of the endpoint of a role that is asked first."""
        endpoint = self.chain_of(role)[0]
        return window_of(endpoint, self.chat_model_of(endpoint))

    def chat_model_of(self, endpoint: ModelSettings) -> BaseChatModel | None:
        """Return the chat model of an endpoint, without its wrappers; None if there is none yet."""
        given = self._given_at(endpoint)
        return self.built.get(endpoint) if given is None else chat_model_in(given)

    async def look_up_window(self, role: str) -> None:
        """Ask the server of a role how large its context window is, where it can say that."""
        endpoint = self.chain_of(role)[0]
        warn_of_small_window(endpoint, await look_up_window(endpoint, self._given_at(endpoint)))

    async def complete(
        self,
        role: str,
        request: Sequence[BaseMessage],
        *,
        tools: list[dict[str, Any]] | None = None,
        tool_choice: str = "auto",
        quiet: bool = False,
    ) -> Reply:
        """Ask the model of a role.

        What may pass (429, 5xx, connection, silence) is tried again for `retry_for` seconds; what
        cannot (key, model name, request) is not. When an endpoint fails for good, the role's
        fallbacks are asked in their order. A reply that is empty, or ends in its middle, is asked
        for once more. A `quiet` reply is not streamed to whoever watches: what the agent says to
        itself is not what it says to a person.

        Raises:
            BudgetError: the run's budget is used up, or its seconds are while the model is asked.
            ModelUnavailableError: no server was there for all the time that it is waited for.
            ModelError: it failed for good; the message is a sentence for the user.
            SettingsError: no model is configured, or its package is missing.
        """
        question = Question(role, request, tools, tool_choice, quiet)
        chain = self.chain_of(role)
        failures: list[ModelError] = []
        for endpoint, following in zip_longest(chain, chain[1:]):
            wait = min(endpoint.retry_for, _BEFORE_FALLBACK) if following else endpoint.retry_for
            try:
                reply = await self._reply_in_time(endpoint, question, wait)
            except (ModelUnavailableError, ModelRefusedError, ModelReplyError) as error:
                failures.append(error)
                if following:
                    _tell_fallback(following, error)
                continue
            if self.recorder is not None:
                await asyncio.to_thread(self.recorder.add, role, request, reply.message)
            return reply
        raise _together(failures)

    async def _reply_in_time(
        self, endpoint: ModelSettings, question: Question, wait: float
    ) -> Reply:
        """Return the reply of an endpoint; what the budget has no seconds for is cut off."""
        try:
            async with asyncio.timeout(self.budget.seconds_left) as limit:
                return await self._reply_of(endpoint, question, wait)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise BudgetError(self.budget.over or "seconds") from error

    async def _reply_of(self, endpoint: ModelSettings, question: Question, wait: float) -> Reply:
        """One endpoint's; what is empty, or breaks off, is asked for once more."""
        ask = partial(self._ask, endpoint, question)
        reply = await with_retries(ask, endpoint, wait)
        if _is_to_be_asked_again(reply.message, question):
            log.info("the model's reply was empty, or broke off; it is asked once more")
            reply = await with_retries(ask, endpoint, wait)
            if is_empty(reply.message):
                raise ModelReplyError(_empty(reply.message, endpoint))
        reply.message.additional_kwargs.pop(CUT_OFF, None)  # some servers never say why it ends
        return reply

    def _given_at(self, endpoint: ModelSettings) -> Runnable[Any, Any] | None:
        is_given = self.given is not None and endpoint == endpoint_of(self.given, endpoint)
        return self.given if is_given else None

    async def _model_at(self, endpoint: ModelSettings) -> Runnable[Any, Any]:
        if (given := self._given_at(endpoint)) is not None:
            return given
        if endpoint not in self.built:
            self.built[endpoint] = await build_model(endpoint, self.workspace)
        return self.built[endpoint]

    async def _ask(self, endpoint: ModelSettings, question: Question) -> Reply:
        """One attempt. It needs room in the budget, also after one whose reply was none."""
        model = await self._model_at(endpoint)
        self.budget.check()
        began = time.monotonic()
        is_given = model is self.given
        try:
            message = await ask_endpoint(model, endpoint, question, is_given=is_given)
        except asyncio.CancelledError:
            # the request was sent, and a server bills it
            self.budget.book(self._used(endpoint, question, AIMessage("")))
            raise
        overflow = await self._overflow_of(endpoint, question, message)
        used = self._used(endpoint, question, message, is_whole=overflow is None)
        self.budget.book(used)
        if overflow is not None:
            raise overflow
        if _FILTERED.search(reason_of(message)):
            raise ModelRefusedError(
                f"The content filter of the model server at {address_of(endpoint)} stopped the "
                f"reply of `{endpoint.model or DEFAULT_MODEL}` ({reason_of(message)}); put the "
                "request in other words, or use another model."
            )
        return Reply(message, used, time.monotonic() - began)

    async def _overflow_of(
        self, endpoint: ModelSettings, question: Question, message: AIMessage
    ) -> ContextOverflowError | None:
        """Return the error of a server that has dropped a part of the request without saying so."""
        factor = self.calibration.get(endpoint.model or DEFAULT_MODEL)
        estimate = estimate_request(question.request, question.tools)
        compared = compare(question.request, message, estimate, factor)
        return await check_reply(endpoint, self._given_at(endpoint), compared)

    def _used(
        self,
        endpoint: ModelSettings,
        question: Question,
        message: AIMessage,
        *,
        is_whole: bool = True,
    ) -> Spending:
        """Return the server's figures of a call, or estimates where it gives none.

        Estimates are calibrated by those of a request that the model got as a whole.
        """
        model = endpoint.model or DEFAULT_MODEL
        usage = message.usage_metadata
        factor = self.calibration.get(model, 1.0)
        cached = 0
        written = 0
        is_estimate = usage is None or not usage["input_tokens"]
        asked = estimate_request(question.request, question.tools)
        if usage is None or is_estimate:  # some servers report zeros
            given = round(factor * asked)
            said = round(factor * estimate_message(message))
            message.additional_kwargs[TOKENS] = given + said
        else:
            given = usage["input_tokens"]
            said = usage["output_tokens"]
            cached, written = cache_tokens(usage.get("input_token_details"))
            if is_whole:
                self.calibration[model] = calibrated(factor, asked, given)
        used = Spending(
            role=question.role,
            input_tokens=given,
            output_tokens=said,
            cached_tokens=cached,
            model_calls=1,
        )
        if written:
            used["cache_write_tokens"] = written
        if (price := self.price_of(model)) is not None:
            used["cost"] = price.cost(given, said, cached, written)
        if is_estimate:
            used["estimated"] = True
        return used


def _is_to_be_asked_again(message: AIMessage, question: Question) -> bool:
    """Whether a reply is none. One without a call where one is required is asked for elsewhere."""
    if is_empty(message):
        return question.tool_choice != "required"
    return bool(message.additional_kwargs.get(CUT_OFF))


def _tell_fallback(following: ModelSettings, error: ModelError) -> None:
    reason = f"{error} Asking `{following.model}` instead."
    log.warning("%s", reason)
    get_stream_writer()(RetryEvent(type="retry", attempt=1, wait=0.0, reason=reason))


def _together(failures: Sequence[ModelError]) -> ModelError:
    """One error of all endpoints; it may pass if one of theirs may."""
    if len(failures) == 1:
        return failures[0]
    said = " ".join(f"({n}) {failure}" for n, failure in enumerate(failures, start=1))
    kinds = [type(failure) for failure in failures]
    kind = ModelUnavailableError if ModelUnavailableError in kinds else kinds[0]
    return kind(f"None of {len(failures)} models could be asked: {said}")


def _empty(message: AIMessage, endpoint: ModelSettings) -> str:
    """What a user reads of a reply that is empty, once it has been asked for again."""
    where = f"The model server at {address_of(endpoint)} gave an empty reply"
    said = f"{where} of `{endpoint.model or DEFAULT_MODEL}` twice"
    if ended_at_limit(message):
        return (
            f"{said}: it ended at its length limit before it said anything; set a larger "
            "MANUS_MAX_TOKENS, or less reasoning_effort."
        )
    return f"{said}; try again, or use another model."
