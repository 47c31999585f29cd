"""Switching spans on: `set_up_tracing()`, or by itself where an endpoint is in the environment.

The endpoint and all else is told by OpenTelemetry's own variables (`OTEL_*`). Spans are sent over
OTLP/HTTP by a thread of its own; a server that is slow or away costs a run nothing, and the end of
the process two seconds at most.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from manus.state import tracing
from manus.state.errors import SettingsError
from manus.state.tracing_settings import NOT_INSTALLED, endpoint_of, is_disabled, wants_content

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.trace import Tracer

log = logging.getLogger("manus")

SCOPE = "manus"
LONGEST_FLUSH = 2.0
"""Seconds that the end of the process waits for what is not sent yet."""

_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"
NO_ENDPOINT = "Tracing needs a place to send spans to: set OTEL_EXPORTER_OTLP_ENDPOINT."

_lock = threading.Lock()
_tried = False
_sender: Sender | None = None


def set_up_tracing() -> None:
    """Record the runs of this process from now on, and send what is recorded. Blocking.

    A tracer provider that the program has set up for itself is used; else spans go to the endpoint
    in the environment. With `OTEL_SDK_DISABLED=true` nothing happens.

    Raises:
        SettingsError: there is no endpoint, its protocol is not spoken, or packages are missing.
    """
    global _tried
    with _lock:
        _tried = True
        if tracing.is_on() or is_disabled(os.environ):
            return
        tracing.switch_on(_tracer(os.environ), with_content=wants_content(os.environ))


async def is_tracing() -> bool:
    """Whether runs are recorded; sets that up at the first run where an endpoint is named."""
    if not _tried:
        if endpoint_of(os.environ) is None:
            return tracing.is_on()
        await asyncio.to_thread(_try)
    return tracing.is_on()


def finish_tracing(seconds: float = LONGEST_FLUSH) -> bool:
    """Send what is left, for so long at most; whether all that was recorded has been sent."""
    global _sender
    sender, _sender = _sender, None
    if sender is None:
        return True
    tracing.switch_off()
    return sender.finish(seconds)


def _try() -> None:
    """Set up; where that fails the run goes on without, since it is not what the user is after."""
    if _tried:
        return
    try:
        set_up_tracing()
    except SettingsError as error:
        log.warning("%s The run goes on without.", error)


def _tracer(environment: Mapping[str, str]) -> Tracer:
    global _sender
    try:
        from opentelemetry import trace
    except ImportError:
        raise SettingsError(NOT_INSTALLED) from None
    own = trace.get_tracer_provider()
    if not isinstance(own, trace.ProxyTracerProvider):
        return own.get_tracer(SCOPE)
    if endpoint_of(environment) is None:
        raise SettingsError(NO_ENDPOINT)
    named = (environment.get(name, "").strip() for name in _PROTOCOLS)
    protocol = next(filter(None, named), _PROTOCOL)
    if protocol != _PROTOCOL:
        only = f"Spans are sent as {_PROTOCOL}, not as {protocol}"
        raise SettingsError(f"{only}: set {_PROTOCOLS[1]}={_PROTOCOL}.")
    try:
        _sender = Sender()
    except ImportError:
        raise SettingsError(NOT_INSTALLED) from None
    except (ValueError, OSError) as error:
        said = str(error).rstrip(".")
        raise SettingsError(f"Tracing does not take what an OTEL_ variable says: {said}.") from None
    return _sender.tracer


class Sender:
    """A tracer of its own, and a thread that sends its spans."""

    def __init__(self) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = Resource.create()
        if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
            resource = resource.merge(Resource({SERVICE_NAME: SCOPE}))
        # not the process's own provider: what else records spans in it shall not be sent by us
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._exporter = _watched(OTLPSpanExporter())
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self.tracer: Tracer = self._provider.get_tracer(SCOPE)
        self._closing, self._closed = threading.Event(), threading.Event()
        # begun now, since no thread can be once the interpreter ends
        threading.Thread(target=self._close, name="manus-tracing", daemon=True).start()
        atexit.register(finish_tracing)

    def finish(self, seconds: float) -> bool:
        """Send what is left, for so long at most; whether all of it has been sent."""
        self._closing.set()
        return self._closed.wait(seconds) and not self._exporter.has_failed

    def _close(self) -> None:
        self._closing.wait()
        self._provider.shutdown()
        self._closed.set()


def _watched(exporter: SpanExporter) -> Any:
    """The exporter, with a note of whether it ever failed."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class Watched(SpanExporter):
        has_failed = False

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = exporter.export(spans)
            self.has_failed = self.has_failed or result is not SpanExportResult.SUCCESS
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return exporter.force_flush(timeout_millis)

    return Watched()
