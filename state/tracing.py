"""Spans of OpenTelemetry around what a run does, with the names of its GenAI conventions.

Until `manus.graph.tracing` switches it on, each function here is one look at a variable: nothing is
imported, made or sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from langgraph.errors import GraphBubbleUp

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.trace import Span as OpenSpan
    from opentelemetry.trace import Tracer

Value = str | bool | int | float | Sequence[str] | None
"""What an attribute can be; one that is None is left out."""
Kind = Literal["internal", "client"]

CONVERSATION = "gen_ai.conversation.id"
ERROR = "error.type"

_tracer: Tracer | None = None
_with_content = False


def switch_on(tracer: Tracer, *, with_content: bool) -> None:
    """Record spans with this tracer from now on; what was said and done only if asked for."""
    global _tracer, _with_content
    _tracer, _with_content = tracer, with_content


def switch_off() -> None:
    """Record nothing any more."""
    global _tracer, _with_content
    _tracer, _with_content = None, False


def is_on() -> bool:
    """Whether spans are recorded."""
    return _tracer is not None


def has_content() -> bool:
    """Whether prompts, replies, arguments and results are recorded too."""
    return _with_content


class Span:
    """Something that takes time. This one is not recorded."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    @property
    def is_recorded(self) -> bool:
        """Whether it is worth gathering attributes for it."""
        return False

    def set(self, attributes: Mapping[str, Value]) -> None:
        """Add attributes."""

    def set_content(self, name: str, make: Callable[[], Any]) -> None:
        """Add what was said or done, if that is wanted: `make` gives it, as text or as data."""

    def fail(self, error_type: str) -> None:
        """Mark it as failed; the kind of error is a short word, never a message."""

    def event(self, name: str, attributes: Mapping[str, Value]) -> None:
        """Add something that happened in it."""


NOT_RECORDED = Span()


class Recorded(Span):
    """A span that is recorded; in its block, or while it is `at_work`, it is the parent of others.

    A block has to begin and end in one task. Who passes parts on (a generator) opens it, is
    `at_work` while it does something itself, and closes it.
    """

    def __init__(
        self,
        span: OpenSpan,
        context: Context,
        error_type: Callable[[BaseException], str] | None = None,
    ) -> None:
        self._span = span
        self._context = context
        self._error_type = error_type or (lambda error: type(error).__name__)
        self._token: Token[Context] | None = None

    def __enter__(self) -> Self:
        from opentelemetry.context import attach

        self._token = attach(self._context)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from opentelemetry.context import detach

        if self._token is not None:
            detach(self._token)
        self.close(error)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Be the parent of what is begun in the block."""
        from opentelemetry.context import attach, detach

        token = attach(self._context)
        try:
            yield
        finally:
            detach(token)

    def close(self, error: BaseException | None = None) -> None:
        """The end of it. To ask a person, or to be stopped, is no error."""
        if isinstance(error, GraphBubbleUp):
            self.event("manus.interrupt", {})
        elif isinstance(error, asyncio.CancelledError | GeneratorExit):
            self.event("manus.stopped", {})
        elif error is not None:
            self.fail(self._error_type(error))
        self._span.end()

    @property
    def is_recorded(self) -> bool:
        """Whether the sampler wants it."""
        return self._span.is_recording()

    def set(self, attributes: Mapping[str, Value]) -> None:
        """Add attributes."""
        self._span.set_attributes(_given(attributes))

    def set_content(self, name: str, make: Callable[[], Any]) -> None:
        """Add what was said or done, if that is wanted."""
        if _with_content and self._span.is_recording():
            found = make()
            if not isinstance(found, str):
                found = json.dumps(found, ensure_ascii=False, default=str)
            # one half of a surrogate pair would keep all that is sent with it from being sent
            self._span.set_attribute(name, found.encode("utf-8", "replace").decode())

    def fail(self, error_type: str) -> None:
        """Mark it as failed."""
        from opentelemetry.trace import StatusCode

        self._span.set_status(StatusCode.ERROR)
        self._span.set_attribute(ERROR, error_type)

    def event(self, name: str, attributes: Mapping[str, Value]) -> None:
        """Add something that happened in it."""
        self._span.add_event(name, _given(attributes))


def span(
    name: str,
    attributes: Mapping[str, Value],
    *,
    kind: Kind = "internal",
    error_type: Callable[[BaseException], str] | None = None,
) -> Span:
    """A span for a `with` block, inside the one that is at work; not recorded if tracing is off.

    `error_type` gives the kind of error of an exception; else it is the exception's class.
    """
    if _tracer is None:
        return NOT_RECORDED
    return opened(name, attributes, kind=kind, error_type=error_type)


def opened(
    name: str,
    attributes: Mapping[str, Value],
    *,
    kind: Kind = "internal",
    error_type: Callable[[BaseException], str] | None = None,
    conversation: str | None = None,
) -> Recorded:
    """A span that has begun; tracing has to be on.

    `conversation` is told of all spans inside it, too.
    """
    from opentelemetry.context import get_current, get_value, set_value
    from opentelemetry.trace import SpanKind, set_span_in_context

    if _tracer is None:
        raise RuntimeError("tracing is off")
    outer = set_value(CONVERSATION, conversation) if conversation else get_current()
    known = {**attributes, CONVERSATION: str(get_value(CONVERSATION, outer) or "") or None}
    kinds = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
    begun = _tracer.start_span(name, outer, kind=kinds[kind], attributes=_given(known))
    return Recorded(begun, set_span_in_context(begun, outer), error_type)


def event(name: str, attributes: Mapping[str, Value]) -> None:
    """Something that happened in the span that is at work."""
    if _tracer is None:
        return
    from opentelemetry.trace import get_current_span

    get_current_span().add_event(name, _given(attributes))


def told(happened: Mapping[str, Any], names: Sequence[str]) -> None:
    """As `event`, of an event that a run streams: its type, and those of its values."""
    if _tracer is not None:
        kind = f"manus.{happened['type']}"
        event(kind, {f"{kind}.{name}": happened[name] for name in names})


def _given(attributes: Mapping[str, Value]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
