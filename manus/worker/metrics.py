"""Metrics of a worker and its queue for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from manus.graph.outcome import Outcome
from manus.state.endings import WAITING, get_ending
from manus.state.errors import UsageError
from manus.worker.job_queue import JobQueue

_STATES = ("todo", "doing", "failed")


class WorkerMetrics:
    """Counts the runs of one worker, and measures its queue."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._runs = Counter("manus_runs", "Runs of this worker", ["ending"], registry=registry)
        self._tokens = Counter("manus_tokens", "Tokens of its runs", ["kind"], registry=registry)
        self._cost = Counter("manus_cost", "Cost of its runs", registry=registry)
        self._queued = Gauge("manus_queue_runs", "Runs in the queue", ["state"], registry=registry)
        self._age = Gauge("manus_queue_oldest_seconds", "Longest wait", registry=registry)
        self._seen = Gauge("manus_worker_heartbeat_seconds", "Unix time", registry=registry)

    def count(self, outcome: Outcome) -> None:
        """Count a run that has ended or waits for a person, with all that it has used."""
        ending = get_ending(outcome.stop_reason, success=outcome.success)
        self._runs.labels(WAITING.label if outcome.asks_person else ending.label).inc()
        usage = outcome.usage
        self._tokens.labels("input").inc(usage["input_tokens"])
        self._tokens.labels("output").inc(usage["output_tokens"])
        self._cost.inc(usage.get("cost", 0.0))

    async def measure(self, queue: JobQueue) -> None:
        """Measure the queue, and note that this worker could read it.

        Raises:
            StorageError: the database cannot be used.
        """
        entries = await queue.entries()
        for state in _STATES:
            self._queued.labels(state).set(sum(entry.status == state for entry in entries))
        waiting = [entry.run.queued_at for entry in entries if entry.status == "todo"]
        now = datetime.now(UTC)
        self._age.set(max(((now - at).total_seconds() for at in waiting), default=0))
        self._seen.set(time.time())

    @contextmanager
    def serve(self, host: str, port: int) -> Iterator[None]:
        """Serve the metrics over HTTP in a thread.

        Raises:
            UsageError: the port is not available.
        """
        try:
            server, thread = start_http_server(port, host, self._registry)
        except OSError as error:
            raise UsageError(f"Cannot serve metrics at {host}:{port} ({error.strerror}).") from None
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
