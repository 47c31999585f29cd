"""A worker: executes the runs of the queue, several concurrently.

The queue reassigns a run after its worker has died, was stopped, or has handed it back. A run is
therefore resumed if its thread has started it, and nothing is done if it has ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from procrastinate import BaseRetryStrategy, JobContext, RetryDecision
from procrastinate.exceptions import ConnectorException, JobAborted
from procrastinate.jobs import Job as QueueJob

from manus.config.settings import Settings
from manus.graph.outcome import Outcome
from manus.prompts.formatting import count
from manus.runs.jobs import Job, create_job, create_resume_job, read_outcome, run_job
from manus.runs.options import RunOptions
from manus.state.endings import get_ending
from manus.state.errors import (
    ManusError,
    StorageError,
    StorageUnavailableError,
    TakenOverError,
    UsageError,
)
from manus.threads.base import Store
from manus.threads.records.files import record_name
from manus.threads.records.postgres import process_name
from manus.threads.thread_list import read_thread, thread_config
from manus.worker.job_queue import QUEUE, TASK, JobQueue
from manus.worker.queued_job import QueuedJob, read_queued_job

if TYPE_CHECKING:
    from manus.worker.metrics import WorkerMetrics

log = logging.getLogger("manus.worker")

_LONGEST_WAIT = 300
"""Seconds until a run that could not be executed is retried; the wait doubles up to this limit."""
_POLL_INTERVAL = 2.0
"""Seconds between two polls of the queue."""
_HEARTBEATS = 3
"""Heartbeats that a worker sends in the time after which it counts as dead."""
_KEEP_FAILED = 24 * 14
"""Hours for which the queue keeps a run that no worker could execute."""


class _HandedBackError(Exception):
    """Raised when this worker ends before the run does."""


class _RunInterruptedError(ManusError):
    """Raised when a run has paused because its model server is unavailable."""


class _RetryPolicy(BaseRetryStrategy):
    """Runs that were handed back are ready immediately; others are retried later."""

    def get_retry_decision(
        self, *, exception: BaseException, job: QueueJob
    ) -> RetryDecision | None:
        if isinstance(exception, _HandedBackError):
            return RetryDecision(retry_in={"seconds": 0})
        if isinstance(exception, ManusError):
            return RetryDecision(retry_in={"seconds": _retry_wait(job)})
        return None


def _retry_wait(job: QueueJob) -> int:
    """Return the seconds until a job is retried, with exponential backoff."""
    return int(min(2 ** min(job.attempts, 20), _LONGEST_WAIT))


class Worker:
    """Executes runs of a queue in this process.

    `report` receives a human-readable line about each event. With `workspaces`, each thread has its
    own folder in that folder.
    """

    def __init__(
        self,
        store: Store,
        queue: JobQueue,
        settings: Settings,
        report: Callable[[str], None],
        *,
        concurrency: int = 1,
        workspaces: Path | None = None,
        metrics: WorkerMetrics | None = None,
    ) -> None:
        self._store = store
        self._queue = queue
        self._settings = settings
        self._report = report
        self._concurrency = concurrency
        self._workspaces = workspaces
        self._metrics = metrics
        self._active: dict[asyncio.Task[Any], tuple[RunControl, JobContext]] = {}
        self._is_stopping = False
        task = queue.app.task(name=TASK, pass_context=True, retry=_RetryPolicy())
        task(self._execute)

    @property
    def name(self) -> str:
        """Return the name of this worker: `HOST:PID`."""
        return process_name()

    async def run(self, *, until_empty: bool = False) -> None:
        """Execute runs until it is cancelled, or until no run is waiting.

        When cancelled it waits for its active runs; call `stop` first.

        Raises:
            StorageError: the database cannot be used, even after retries.
        """
        await self._queue.jobs.delete_old_jobs(
            _KEEP_FAILED, QUEUE, include_failed=True, include_cancelled=True, include_aborted=True
        )
        watch = asyncio.create_task(self._watch())
        try:
            while not await self._fetch_and_execute(until_empty=until_empty):
                await asyncio.sleep(1)
                await self._store.recent(1)  # waits for an unavailable database
        finally:
            watch.cancel()

    async def _fetch_and_execute(self, *, until_empty: bool) -> bool:
        """Execute runs; return whether the queue is empty, False after a failure of the database.

        Procrastinate's worker ends when it cannot read the queue or send a heartbeat.
        """
        interval = self._settings.queue.takeover_after / _HEARTBEATS
        try:
            await self._queue.app.run_worker_async(
                queues=[QUEUE],
                name=self.name,
                concurrency=self._concurrency,
                wait=not until_empty,
                fetch_job_polling_interval=min(_POLL_INTERVAL, interval),
                abort_job_polling_interval=min(_POLL_INTERVAL, interval),
                listen_notify=False,
                delete_jobs="successful",
                install_signal_handlers=False,
                update_heartbeat_interval=interval,
                stalled_worker_timeout=self._settings.queue.takeover_after,
            )
        except ConnectorException as error:
            explained = self._queue.explain(error)
            is_pruned = "procrastinate_jobs_worker_id_fkey" in str(error.__cause__)
            if not (is_pruned or isinstance(explained, StorageUnavailableError)):
                raise
            log.warning("reconnecting to the queue: %s", explained)
            return False
        return until_empty

    def stop(self, grace: float) -> None:
        """Stop all runs after their current step; cancel those that take longer than `grace` s.

        They return to the queue.
        """
        self._is_stopping = True
        for control, _ in self._active.values():
            control.request_drain()
        asyncio.get_running_loop().call_later(grace, self._cancel_active)

    def _cancel_active(self) -> None:
        for task in self._active:
            task.cancel()

    async def _watch(self) -> None:
        """Send heartbeats while runs end, and take over the runs of dead workers."""
        timeout = self._settings.queue.takeover_after
        checked_at = time.time()
        while True:
            await self._measure()
            await asyncio.sleep(timeout / _HEARTBEATS)
            # after an outage, or a stop of this process, the others must first send a heartbeat
            was_suspended = time.time() - checked_at > timeout
            checked_at = time.time()
            try:
                # procrastinate's worker sends none while it waits for its last runs
                for worker_id in {context.job.worker_id for _, context in self._active.values()}:
                    await self._queue.jobs.update_heartbeat(worker_id or 0)
                if not was_suspended:
                    await self._take_over()
            except ConnectorException as error:
                log.info("the queue did not answer: %s", self._queue.explain(error))

    async def _measure(self) -> None:
        if self._metrics is None:
            return
        try:
            await self._metrics.measure(self._queue)
        except StorageError as error:
            log.info("the queue could not be measured: %s", error)

    async def _take_over(self) -> None:
        timeout = self._settings.queue.takeover_after
        for thread_id, is_given_up in await self._queue.return_stalled(timeout):
            action = "is given up after several workers" if is_given_up else "returns to the queue"
            self._report(f"{thread_id}: its worker does not answer; the run {action}")

    async def _execute(self, context: JobContext, run: dict[str, Any]) -> None:
        """Execute the run of a job; its exception decides what happens to the job."""
        thread_id = str(run.get("thread_id"))
        if self._is_stopping:
            raise _HandedBackError
        control = RunControl()
        task = asyncio.current_task()
        assert task is not None
        self._active[task] = (control, context)
        try:
            outcome = await self._run(read_queued_job(run), control)
        except (GraphDrained, asyncio.CancelledError):
            task.uncancel()
            if context.should_abort():
                self._report(f"{thread_id}: stopped on request; `manus resume` continues it")
                raise JobAborted from None
            self._report(f"{thread_id}: handed back")
            raise _HandedBackError from None
        except TakenOverError:
            self._report(f"{thread_id}: another worker continues it")
            raise
        except ManusError as error:
            self._report(f"{thread_id}: retry in {_retry_wait(context.job)} s. {error}")
            raise
        except Exception:
            self._report(f"{thread_id}: failed unexpectedly; the log file has the traceback")
            raise
        finally:
            del self._active[task]
        self._report(f"{thread_id}: {_describe(outcome)}")

    async def _run(self, run: QueuedJob, control: RunControl) -> Outcome:
        async with self._store.hold(run.thread_id, run.run_id):
            prepared = await self._prepare(run)
            if isinstance(prepared, Outcome):
                return prepared
            show = _ignore if self._metrics is None else self._metrics.watch
            outcome = await run_job(prepared, ["custom"], show, control=control)
        if outcome.waits_for_model:
            raise _RunInterruptedError(outcome.output)
        if self._metrics is not None:
            self._metrics.count(outcome, run.options.get("workspace") or "")
        return outcome

    async def _prepare(self, run: QueuedJob) -> Job | Outcome:
        """Return the job of a run, or its outcome if there is nothing left to do.

        Raises:
            UsageError: the workspace is not on this machine, or an option is invalid.
        """
        args = run.run_options()
        await self._select_workspace(args, run)
        thread = await read_thread(self._store, run.thread_id)
        if thread is None or not await self._has_started(run):
            self._report(f"{run.thread_id}: started")
            parts = (run.kind, run.thread_id, run.request, run.graph_input)
            job = await create_job(*parts, args, self._settings, self._store)
            return replace(job, run_id=run.run_id)
        outcome = await read_outcome(self._store, thread)
        if outcome.stop_reason is not None and not outcome.waits_for_model:
            return outcome
        self._report(f"{run.thread_id}: resumed")
        job = await create_resume_job(run.thread_id, args, self._settings, self._store)
        return replace(job, run_id=run.run_id)

    async def _has_started(self, run: QueuedJob) -> bool:
        """Return whether the thread has a checkpoint of the run; another run may have followed."""
        config = thread_config(run.thread_id)
        checkpoints = self._store.alist(config, filter={"run_id": run.run_id}, limit=1)
        return bool([checkpoint async for checkpoint in checkpoints])

    async def _select_workspace(self, args: RunOptions, run: QueuedJob) -> None:
        """Set the workspace of a run on this machine.

        Raises:
            UsageError: it does not exist here.
        """
        if self._workspaces is not None:
            name = record_name(run.thread_id)
            args.workspace = str(self._workspaces / (f"_{name}" if name.startswith(".") else name))
        elif args.workspace and not await asyncio.to_thread(Path(args.workspace).is_dir):
            raise UsageError(
                f"The workspace {args.workspace} does not exist on {self.name}; mount it there, or "
                "start the worker with --workspace."
            )


async def _ignore(mode: str, data: Any) -> None:
    """Drop a part of a run's stream."""


def _describe(outcome: Outcome) -> str:
    """Return how a run has ended, in a few words."""
    ending = get_ending(outcome.stop_reason, success=outcome.success)
    if outcome.asks_person:
        return f"waits for an answer; give it with `manus resume {outcome.thread_id}`"
    return f"{ending.headline.lower()}, {count(len(outcome.results), 'step')}"
