"""Call models: fallbacks, retries, budget, recording, token counts."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langgraph.config import get_stream_writer

from manus.config.model_settings import ModelSettings
from manus.config.provider_table import DEFAULT_MODEL
from manus.models.chat_models import build_model
from manus.models.endpoint_call import ask_endpoint
from manus.models.errors import ErrorFacts, ReplyFaultError
from manus.models.ledger import UsageLedger
from manus.models.model_request import ModelRequest, RequestCache
from manus.models.prices import Pricing
from manus.models.providers import build_endpoint, get_address
from manus.models.recording import Recorder, ReplayModel
from manus.models.retry import with_retries
from manus.models.server_window import WindowWatch, watch_window
from manus.models.tokens import TOKENS, cache_tokens, calibrate, estimate_message, get_window
from manus.models.wrapped import chat_model_in, has_stream
from manus.state.errors import (
    BudgetError,
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelReplyError,
    ModelUnavailableError,
)
from manus.state.events import RetryEvent
from manus.state.replies import (
    CALLS_IN_TEXT,
    CUT_OFF,
    broke_off,
    ended_at_limit,
    find_end_fault,
    get_finish_reason,
    is_empty,
)
from manus.state.usage import Spending

log = logging.getLogger("manus")

_CANNOT_STREAM = (NotImplementedError, RuntimeError, TypeError, ValueError)
"""What a chat model raises that does not stream, or whose stream has no chunks."""
_BEFORE_FALLBACK = 3.0
"""Seconds of retries on an endpoint that has a fallback."""
_FILTERED = re.compile(
    "content_filter|refusal|safety|sensitive|prohibited|guardrail|recitation|blocklist|spii"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply, its usage, and its duration in seconds."""

    message: AIMessage
    used: Spending
    seconds: float


@dataclass(slots=True)
class ModelClient:
    """Calls the models of one run."""

    chain_of: Callable[[str], list[ModelSettings]]
    """Returns the endpoint of a role, followed by its fallbacks."""
    find_price: Callable[[ModelSettings], Pricing | None]
    workspace: Path
    ledger: UsageLedger
    recorder: Recorder | None = None
    earlier: ReplayModel | None = None
    """The recording of a run that was stopped; its replies are not requested again."""
    calibration: dict[str, float] = field(default_factory=dict)
    """The factor for token estimates, by model."""
    chat_models: dict[ModelSettings, BaseChatModel] = field(default_factory=dict)
    """Chat models built so far, by endpoint."""
    caller_model: Runnable[Any, Any] | None = None
    """A chat model built by the caller, including its LangChain wrappers."""
    caller_model_streams: bool = True
    """False after it has failed to stream."""
    caches: defaultdict[str, RequestCache] = field(
        default_factory=lambda: defaultdict(RequestCache)
    )
    """Per-message values, computed once, of the requests of a role."""

    def _watch_window(self, endpoint: ModelSettings) -> WindowWatch | None:
        """Return the watch of an endpoint; None for the caller's model, which is all to ask."""
        return None if self._caller_model_at(endpoint) is not None else watch_window(endpoint)

    def window(self, role: str) -> int:
        """Return the context window of the first endpoint of a role, in tokens."""
        endpoint = self.chain_of(role)[0]
        return get_window(endpoint, self.get_chat_model(endpoint))

    def get_chat_model(self, endpoint: ModelSettings) -> BaseChatModel | None:
        """Return the chat model of an endpoint without its wrappers; None if not built yet."""
        caller_model = self._caller_model_at(endpoint)
        if caller_model is not None:
            return chat_model_in(caller_model)
        return self.chat_models.get(endpoint)

    async def open_model(self, role: str) -> Runnable[Any, Any]:
        """Return the chat model of the first endpoint of a role, with the caller's wrappers."""
        return await self._model_at(self.chain_of(role)[0])

    async def look_up_window(self, role: str) -> None:
        """Query the server of a role for its context window; warn if it is small."""
        watch = self._watch_window(self.chain_of(role)[0])
        if watch is not None:
            await watch.look_up()

    async def complete(
        self,
        role: str,
        request: Sequence[BaseMessage],
        *,
        tools: list[dict[str, Any]] | None = None,
        tool_choice: Any = "auto",
        quiet: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Call the model of a role and return its reply.

        Transient failures (429, 5xx, connection error, timeout) are retried for `retry_for`
        seconds; permanent ones (key, model name, bad request) are not. When an endpoint fails
        permanently, the role's fallbacks are called in order. An empty or truncated reply is
        requested once more. A `quiet` reply is not streamed: it is not addressed to the user.
        `options` are additional keyword arguments for the chat model.

        Raises:
            BudgetError: the budget is used up, or its time runs out during the call.
            ModelUnavailableError: no server became available within the retry time.
            ModelError: a permanent failure; the message is a sentence for the user.
            SettingsError: no model is configured, or its package is missing.
        """
        model_request = ModelRequest(
            role, request, tools, tool_choice, quiet, options or {}, cache=self.caches[role]
        )
        chain = self.chain_of(role)
        failures: list[ModelError] = []
        for endpoint, fallback in zip_longest(chain, chain[1:]):
            retry_for = endpoint.retry_for
            if fallback:
                retry_for = min(retry_for, _BEFORE_FALLBACK)
            try:
                reply = await self._ask_endpoint(endpoint, model_request, retry_for)
            except (ModelUnavailableError, ModelRefusedError, ModelReplyError) as error:
                failures.append(error)
                if fallback:
                    _report_fallback(fallback, error)
                continue
            if self.recorder is not None:
                await asyncio.to_thread(self.recorder.add, role, request, reply.message)
            return reply
        raise _join_failures(failures)

    async def _ask_endpoint(
        self, endpoint: ModelSettings, request: ModelRequest, retry_for: float
    ) -> Reply:
        """Return the reply of an endpoint; request an empty or truncated one once more.

        The call is cancelled when the budget's time runs out.
        """

        async def ask() -> Reply:
            return await self._ask_once(endpoint, request)

        try:
            seconds = self.ledger.seconds_left if self.ledger.is_limited else None
            async with asyncio.timeout(seconds) as limit:
                reply = await with_retries(ask, endpoint, retry_for)
                if _needs_second_try(reply.message, request):
                    log.info("the model's reply was empty or truncated; requesting it once more")
                    if is_empty(reply.message):
                        self.caller_model_streams = False
                    reply = await with_retries(ask, endpoint, retry_for)
                    if is_empty(reply.message):
                        raise ModelReplyError(_explain_empty(reply.message, endpoint))
        except ModelRefusedError as error:
            if not self._may_be_too_large(endpoint, request, error):
                raise
            at = (endpoint.base_url, endpoint.model)
            raise ContextOverflowError(str(error), at, is_guess=True) from error.__cause__
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise BudgetError(self.ledger.over or "seconds") from error
        reply.message.additional_kwargs.pop(CUT_OFF, None)  # some servers send no finish reason
        return reply

    def _may_be_too_large(
        self, endpoint: ModelSettings, request: ModelRequest, error: ModelRefusedError
    ) -> bool:
        """Return whether a refusal may mean the size: more than half of the window was sent."""
        if error.__cause__ is None or ErrorFacts(error.__cause__).status not in (400, 422):
            return False
        window = get_window(endpoint, self.get_chat_model(endpoint))
        factor = self.calibration.get(endpoint.model or DEFAULT_MODEL, 1.0)
        return factor * request.estimate > window / 2

    def _caller_model_at(self, endpoint: ModelSettings) -> Runnable[Any, Any] | None:
        """Return the caller's chat model if the endpoint represents it."""
        model = self.caller_model
        if model is None or endpoint != build_endpoint(model, endpoint):
            return None
        return model

    async def _model_at(self, endpoint: ModelSettings) -> Runnable[Any, Any]:
        """Return the chat model of an endpoint; build it on first use."""
        caller_model = self._caller_model_at(endpoint)
        if caller_model is not None:
            return caller_model
        if endpoint not in self.chat_models:
            self.chat_models[endpoint] = await build_model(endpoint, self.workspace)
        return self.chat_models[endpoint]

    async def _ask_once(self, endpoint: ModelSettings, request: ModelRequest) -> Reply:
        """Call an endpoint once; every attempt, even a failed one, needs room in the budget."""
        model = await self._model_at(endpoint)
        if self.ledger.is_limited:
            self.ledger.check()
        start = time.monotonic()
        try:
            message = await self._send(model, endpoint, request)
        except asyncio.CancelledError:
            # the request was sent, and a server bills it
            self.ledger.book(self._measure_spending(endpoint, request, AIMessage("")))
            raise
        overflow = None
        watch = self._watch_window(endpoint)
        if watch is not None:
            factor = self.calibration.get(endpoint.model or DEFAULT_MODEL)
            overflow = await watch.check_reply(request, message, factor)
        spending = self._measure_spending(endpoint, request, message, is_whole=overflow is None)
        self.ledger.book(spending)
        if overflow is not None:
            raise overflow
        if _FILTERED.search(get_finish_reason(message)):
            raise ModelRefusedError(
                f"The content filter of the model server at {get_address(endpoint)} stopped the "
                f"reply of `{endpoint.model or DEFAULT_MODEL}` ({get_finish_reason(message)}); "
                "rephrase the request, or use another model."
            )
        fault = find_end_fault(message)
        if fault is not None:
            # an outage is waited for; further attempts at anything else do not help
            is_outage = broke_off(get_finish_reason(message))
            raise (
                ValueError({"message": f"a reply {fault}"}) if is_outage else ReplyFaultError(fault)
            )
        if message.additional_kwargs.get(CALLS_IN_TEXT):
            watch_window(endpoint).warn_of_calls_in_text()
        return Reply(message, spending, time.monotonic() - start)

    async def _send(
        self, model: Runnable[Any, Any], endpoint: ModelSettings, request: ModelRequest
    ) -> AIMessage:
        """Return the reply of a chat model; one built by the caller need not be able to stream."""
        if self.earlier is not None:
            reply = await asyncio.to_thread(self.earlier.take, request.messages)
            if reply is not None:
                return reply
        if model is not self.caller_model:
            return await ask_endpoint(model, endpoint, request)
        if self.caller_model_streams and has_stream(model):
            try:
                return await ask_endpoint(model, endpoint, request, is_caller_model=True)
            except _CANNOT_STREAM as error:
                log.info("the chat model failed, and is called without streaming: %r", error)
                self.caller_model_streams = False
        whole = replace(request, streams=False)
        return await ask_endpoint(model, endpoint, whole, is_caller_model=True)

    def _measure_spending(
        self,
        endpoint: ModelSettings,
        request: ModelRequest,
        message: AIMessage,
        *,
        is_whole: bool = True,
    ) -> Spending:
        """Return the usage and cost of one call; pass `is_whole=False` for a truncated request.

        The tokens are those that the server reports, or estimates. Reported tokens of a whole
        request calibrate later estimates; estimates are noted in the message.
        """
        model = endpoint.model or DEFAULT_MODEL
        factor = self.calibration.get(model, 1.0)
        usage = message.usage_metadata
        spending = Spending(
            role=request.role, input_tokens=0, output_tokens=0, cached_tokens=0, model_calls=1
        )
        written = 0
        if usage is not None and usage["input_tokens"]:  # some servers report zeros
            spending["input_tokens"] = usage["input_tokens"]
            spending["output_tokens"] = usage["output_tokens"]
            if is_whole:
                reported = usage["input_tokens"]
                self.calibration[model] = calibrate(factor, request.estimate, reported)
            spending["cached_tokens"], written = cache_tokens(usage.get("input_token_details"))
            if written:
                spending["cache_write_tokens"] = written
        else:
            spending["input_tokens"] = round(factor * request.estimate)
            spending["output_tokens"] = round(factor * estimate_message(message))
            spending["estimated"] = True
            tokens = spending["input_tokens"] + spending["output_tokens"]
            message.additional_kwargs[TOKENS] = tokens
        price = self.find_price(endpoint)
        if price is not None:
            spending["cost"] = price.cost(
                spending["input_tokens"],
                spending["output_tokens"],
                spending["cached_tokens"],
                written,
            )
        return spending


def _needs_second_try(message: AIMessage, request: ModelRequest) -> bool:
    """Return whether a reply is empty or truncated.

    An empty reply where a tool call is required is excluded: the caller asks again with a hint.
    """
    if is_empty(message):
        return bool(request.tool_choice != "required")
    return bool(message.additional_kwargs.get(CUT_OFF))


def _report_fallback(fallback: ModelSettings, error: ModelError) -> None:
    reason = f"{error} Asking `{fallback.model}` instead."
    log.warning("%s", reason)
    get_stream_writer()(RetryEvent(type="retry", attempt=1, wait=0.0, reason=reason))


def _join_failures(failures: Sequence[ModelError]) -> ModelError:
    """Return one error for all endpoints; it is transient if any of them is."""
    if len(failures) == 1:
        return failures[0]
    reasons = " ".join(f"({n}) {failure}" for n, failure in enumerate(failures, start=1))
    error_class = type(failures[0])
    if any(type(failure) is ModelUnavailableError for failure in failures):
        error_class = ModelUnavailableError
    return error_class(f"All {len(failures)} models failed: {reasons}")


def _explain_empty(message: AIMessage, endpoint: ModelSettings) -> str:
    """Return the error text for a reply that was empty twice."""
    where = f"The model server at {get_address(endpoint)} returned an empty reply"
    problem = f"{where} from `{endpoint.model or DEFAULT_MODEL}` twice"
    if ended_at_limit(message):
        return (
            f"{problem}: it reached its length limit before any text; increase MANUS_MAX_TOKENS or "
            "lower reasoning_effort."
        )
    return f"{problem}; try again, or use another model."
