"""The span of a request to a model: `chat {model}`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from manus.models.endpoint_call import Question
from manus.models.error_facts import status_of
from manus.models.model_names import DEFAULT_MODEL, REPLAY, split_spec
from manus.models.reply_figures import Reply
from manus.models.spoken import spoken
from manus.state import tracing
from manus.state.model_settings import ModelSettings

_PROVIDERS = {
    "azure": "azure.ai.openai",
    "google": "gcp.gemini",
    "bedrock": "aws.bedrock",
}
_REASONS = ("finish_reason", "stop_reason", "stopReason")
_MODELS = ("model_name", "model")


def model_attributes(endpoint: ModelSettings) -> dict[str, tracing.Value]:
    """Which model is asked, and where."""
    spec = endpoint.model or DEFAULT_MODEL
    if spec.startswith(REPLAY):
        return {"gen_ai.provider.name": "replay", "gen_ai.request.model": "replay"}
    provider, name = split_spec(spec)
    place = urlsplit(endpoint.base_url or "")
    return {
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": name,
        "server.address": place.hostname,
        "server.port": _port_of(place) if place.hostname else None,
    }


def chat_span(endpoint: ModelSettings, role: str, question: Question) -> tracing.Span:
    """The span of one request to one endpoint, with all its attempts."""
    if not tracing.is_on():
        return tracing.NOT_RECORDED
    known = model_attributes(endpoint)
    attributes: dict[str, tracing.Value] = {
        "gen_ai.operation.name": "chat",
        **known,
        "gen_ai.request.temperature": endpoint.temperature,
        "gen_ai.request.max_tokens": endpoint.max_tokens,
        "manus.model.role": role,
    }
    name = f"chat {known['gen_ai.request.model']}"
    made = tracing.span(name, attributes, kind="client", error_type=error_type)
    made.set_content("gen_ai.input.messages", lambda: [spoken(m) for m in question.request])
    made.set_content("gen_ai.tool.definitions", lambda: question.tools or [])
    return made


def tell_reply(span: tracing.Span, replies: Sequence[Reply]) -> None:
    """What came back, the last time that something did."""
    if not (replies and span.is_recorded):
        return
    reply = replies[-1]
    said = reply.message.response_metadata
    reason = _first(said, _REASONS)
    span.set(
        {
            "gen_ai.response.id": _first(said, ("id",)),
            "gen_ai.response.model": _first(said, _MODELS),
            "gen_ai.response.finish_reasons": [reason] if reason else None,
            "gen_ai.usage.input_tokens": reply.input_tokens,
            "gen_ai.usage.output_tokens": reply.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": reply.cached_tokens or None,
            "gen_ai.usage.cache_creation.input_tokens": reply.cache_write_tokens or None,
            "manus.usage.estimated": reply.estimated or None,
            "manus.usage.cost": reply.cost,
        }
    )
    ending = {"finish_reason": reason or "stop"}
    span.set_content("gen_ai.output.messages", lambda: [{**spoken(reply.message), **ending}])


def tell_retry(attempt: int, wait: float, error: BaseException) -> None:
    """An attempt failed, and another one is made after the wait, in seconds."""
    if tracing.is_on():
        told: dict[str, tracing.Value] = {"manus.retry.attempt": attempt}
        told |= {"manus.retry.wait": round(wait, 3), tracing.ERROR: error_type(error)}
        tracing.event("manus.retry", told)


def error_type(error: BaseException) -> str:
    """The HTTP status behind an error, else the class of what the client raised."""
    status = status_of(error)
    return str(status) if status is not None else type(error.__cause__ or error).__name__


def _first(said: dict[str, Any], names: Sequence[str]) -> str | None:
    return next((str(said[name]) for name in names if said.get(name)), None)


def _port_of(place: Any) -> int | None:
    try:
        port: int | None = place.port
    except ValueError:  # not a number: the client will say so
        return None
    return port or (443 if place.scheme == "https" else 80)
