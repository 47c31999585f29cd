"""Metrics of a worker and its queue for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from manus.graph.outcome import Outcome
from manus.state.endings import WAITING, get_ending
from manus.state.errors import UsageError
from manus.threads.journal import UNKNOWN_EFFECT
from manus.worker.job_queue import JobQueue

_STATES = ("todo", "doing", "failed")


class WorkerMetrics:
    """Counts the runs of one worker, and measures its queue."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._runs = Counter("manus_runs", "Runs of this worker", ["ending"], registry=registry)
        labels = ["kind", "workspace"]
        self._tokens = Counter("manus_tokens", "Tokens of its runs", labels, registry=registry)
        self._cost = Counter("manus_cost", "Cost of its runs", ["workspace"], registry=registry)
        in_doubt = "Calls that may have taken effect when their worker died"
        self._in_doubt = Counter("manus_calls_in_doubt", in_doubt, registry=registry)
        self._queued = Gauge("manus_queue_runs", "Runs in the queue", ["state"], registry=registry)
        self._age = Gauge("manus_queue_oldest_seconds", "Longest wait", registry=registry)
        self._seen = Gauge("manus_worker_heartbeat_seconds", "Unix time", registry=registry)

    async def watch(self, _: str, event: Any) -> None:
        """Count a call in doubt in the events of a run."""
        while isinstance(event.get("event"), dict):  # of a step, or of a delegated agent
            event = event["event"]
        if event["type"] == "observation" and UNKNOWN_EFFECT in event["text"]:
            self._in_doubt.inc()

    def count(self, outcome: Outcome, workspace: str) -> None:
        """Count a run that has ended or waits for a person, with all that it has used.

        `workspace` is that of the task, of which each user has one.
        """
        ending = get_ending(outcome.stop_reason, success=outcome.success)
        self._runs.labels(WAITING.label if outcome.asks_person else ending.label).inc()
        usage = outcome.usage
        self._tokens.labels("input", workspace).inc(usage["input_tokens"])
        self._tokens.labels("output", workspace).inc(usage["output_tokens"])
        self._cost.labels(workspace).inc(usage.get("cost", 0.0))

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
