"""The runs of a thread as OpenTelemetry spans in OTLP/JSON, by the semantic conventions for GenAI.

The conventions (github.com/open-telemetry/semantic-conventions-genai) are those of 2026, with
`gen_ai.provider.name` and messages of parts. Each run is a trace. Structured attributes are JSON
texts, since few backends accept nested ones. The checkpoints have the time of each step, not that
of each call, so the calls of a step share their interval.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from manus.config.provider_table import ALIASES, SPAN_NAMES
from manus.pages.trace.model import TraceCall, TraceRun, TraceStep
from manus.state.usage import RoleUsage
from manus.version import VERSION

Json = dict[str, Any]

_INTERNAL = 1
_CLIENT = 3
_ERROR = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def as_otel(thread_id: str, runs: Sequence[TraceRun]) -> Json:
    """Return the spans of a thread as a request of OTLP's trace service."""
    spans: list[Json] = []
    for run in runs:
        trace = hashlib.sha256(f"{thread_id}/{run.number}".encode()).hexdigest()[:32]
        spans += _run_spans(run, _Parent(thread_id, trace, "", run.started_at, run.ended_at))
    resource = _attributes({"service.name": "manus"})
    scope = {"scope": {"name": "manus", "version": VERSION}, "spans": spans}
    return {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [scope]}]}


@dataclass(frozen=True, slots=True)
class _Parent:
    """The span that contains another one, and the interval of spans whose times are unknown."""

    thread_id: str
    trace: str
    span: str
    start: datetime | None
    end: datetime | None

    def within(self, name: str, start: datetime | None, end: datetime | None) -> _Parent:
        """Return the parent of the spans inside of one of its spans."""
        span = hashlib.sha256(f"{self.trace}/{self.span}/{name}".encode()).hexdigest()[:16]
        return _Parent(self.thread_id, self.trace, span, start or self.start, end or self.end)


def _run_spans(run: TraceRun, parent: _Parent, name: str = "run") -> Iterator[Json]:
    """Yield the span of a run, and those inside of it; `name` is unique within the parent."""
    inside = parent.within(name, run.started_at, run.ended_at)
    operation, subject, title = "invoke_agent", "agent", run.profile or "agent"
    if run.kind == "flow":
        operation, subject, title = "invoke_workflow", "workflow", "flow"
    values = {
        "gen_ai.operation.name": operation,
        f"gen_ai.{subject}.name": title,
        "gen_ai.conversation.id": parent.thread_id,
        "gen_ai.input.messages": _messages("user", [_text(run.request)]),
        "gen_ai.output.messages": _messages("assistant", [_text(run.output)], "stop"),
        **_usage(run.tokens),
    }
    error = run.stop_reason if run.success is False else None
    yield _span(parent, inside, f"{operation} {title}", values, error=error)
    for number, agent in enumerate(run.agents):
        if agent is not run:
            yield from _run_spans(agent, inside, f"step {number}")
    for step in run.steps:
        yield from _step_spans(step, inside)


def _step_spans(step: TraceStep, parent: _Parent) -> Iterator[Json]:
    """Yield the spans of a model call and of the tool calls in its reply."""
    asking = parent.within(f"chat {step.number}", step.started_at, step.answered_at)
    calls = [
        {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.args}
        for call in step.calls
    ]
    texts = [_text(step.thought)] if step.thought else []
    provider = ALIASES.get(step.provider, step.provider)
    values = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": SPAN_NAMES.get(provider, provider or "_OTHER"),
        "gen_ai.conversation.id": parent.thread_id,
        "gen_ai.response.model": step.model,
        "gen_ai.output.messages": _messages("assistant", [*texts, *calls], step.finish_reason),
        **_usage(step.tokens),
    }
    yield _span(parent, asking, f"chat {step.model}", values, kind=_CLIENT)
    for index, call in enumerate(step.calls):
        name = f"tool {step.number}.{index}"
        inside = parent.within(name, step.answered_at, step.ended_at)
        yield _call_span(call, parent, inside)
        if call.run is not None:
            yield from _run_spans(call.run, inside)


def _call_span(call: TraceCall, parent: _Parent, inside: _Parent) -> Json:
    values = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.call.arguments": json.dumps(call.args, ensure_ascii=False),
        "gen_ai.tool.call.result": call.observation,
    }
    error = "tool_error" if call.is_error else None
    return _span(parent, inside, f"execute_tool {call.name}", values, error=error)


def _span(
    parent: _Parent,
    own: _Parent,
    name: str,
    values: Json,
    *,
    kind: int = _INTERNAL,
    error: str | None = None,
) -> Json:
    result: Json = {
        "traceId": own.trace,
        "spanId": own.span,
        "name": name,
        "kind": kind,
        "startTimeUnixNano": _nanoseconds(own.start),
        "endTimeUnixNano": _nanoseconds(own.end),
        "attributes": _attributes({**values, "error.type": error}),
        "status": {"code": _ERROR, "message": error} if error else {},
    }
    if parent.span:
        result["parentSpanId"] = parent.span
    return result


def _nanoseconds(time: datetime | None) -> str:
    """Return a time since 1970 in the form of a 64-bit number in JSON."""
    microseconds = ((time or _EPOCH) - _EPOCH) // timedelta(microseconds=1)
    return str(1000 * microseconds)


def _usage(used: RoleUsage | None) -> Json:
    if used is None:
        return {}
    return {
        "gen_ai.usage.input_tokens": used["input_tokens"],
        "gen_ai.usage.output_tokens": used["output_tokens"],
        "gen_ai.usage.cache_read.input_tokens": used["cached_tokens"],
    }


def _text(text: str) -> Json:
    return {"type": "text", "content": text}


def _messages(role: str, parts: list[Json], finish_reason: str = "") -> str:
    message: Json = {"role": role, "parts": parts}
    if role == "assistant":
        message["finish_reason"] = finish_reason
    return json.dumps([message], ensure_ascii=False)


def _attributes(values: Json) -> list[Json]:
    """Return the values that are set, each with its type."""
    return [
        {"key": key, "value": _value(value)}
        for key, value in values.items()
        if value not in (None, "")
    ]


def _value(value: Any) -> Json:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value}
