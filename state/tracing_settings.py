"""What OpenTelemetry's and LangSmith's own variables say: whether to trace, where to, what."""

from __future__ import annotations

from collections.abc import Mapping

NOT_INSTALLED = (
    "OpenTelemetry tracing needs packages that are not installed: pip install "
    "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http (the extra `otel`)."
)

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_WITH_CONTENT = ("true", "1", "span_only", "span_and_event")
_LANGSMITH = (
    "LANGSMITH_TRACING",
    "LANGSMITH_TRACING_V2",
    "LANGCHAIN_TRACING",
    "LANGCHAIN_TRACING_V2",
)


def is_disabled(environment: Mapping[str, str]) -> bool:
    """Whether OpenTelemetry is switched off, whatever else is set."""
    return _said(environment, "OTEL_SDK_DISABLED") == "true"


def endpoint_of(environment: Mapping[str, str]) -> str | None:
    """Where spans are to be sent; None where none is named, or tracing is switched off."""
    if is_disabled(environment) or _said(environment, "OTEL_TRACES_EXPORTER") == "none":
        return None
    named = (environment.get(name, "").strip() for name in _ENDPOINTS)
    return next(filter(None, named), None)


def wants_content(environment: Mapping[str, str]) -> bool:
    """Whether prompts, replies, arguments and results are to be recorded in spans."""
    return _said(environment, _CONTENT) in _WITH_CONTENT


def uses_langsmith(environment: Mapping[str, str]) -> bool:
    """Whether LangSmith is switched on, as its client reads it."""
    return any(environment.get(name, "") == "true" for name in _LANGSMITH)


def _said(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip().lower()
