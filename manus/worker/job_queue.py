"""The queue of runs on procrastinate, through its public interface.

A run is one job. Procrastinate stores it, gives it to one worker at a time, and knows which workers
are alive. The store makes a second execution harmless, by the lock, the fencing token and the
journal of a thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from psycopg_pool import PoolTimeout

from manus.state.errors import StorageError, StorageUnavailableError
from manus.threads.records.postgres_address import describe_address, read_connect_timeout
from manus.worker.queued_job import QueuedJob

QUEUE = "manus"
TASK = "manus.run"
_ACTIVE = (Status.TODO.value, Status.DOING.value, Status.FAILED.value)
_MAX_TAKEOVERS = 3
"""Number of workers that may take over a run; if the last one dies, too, the run is given up."""
_COUNT_TAKEOVER = """
    UPDATE procrastinate_jobs SET args = jsonb_set(args, '{run,takeovers}', to_jsonb(%(count)s))
    WHERE id = %(job_id)s AND status = 'doing' AND worker_id IS NOT DISTINCT FROM %(worker_id)s
"""
_OTHER_SCHEMA = (
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedObject,
)


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A run in the queue."""

    job_id: int
    run: QueuedJob
    status: str
    """`todo`, `doing` or `failed`."""

    @property
    def failure(self) -> str:
        """Return why the run was given up; empty if it failed otherwise, or not at all."""
        if self.status != Status.FAILED.value or self.run.takeovers <= _MAX_TAKEOVERS:
            return ""
        return (
            f"{self.run.takeovers} workers ended while they executed it, the last one after "
            f"{_MAX_TAKEOVERS} takeovers; `manus resume {self.run.thread_id}` continues it here"
        )


class OwnJobs(JobManager):
    """Procrastinate's operations on jobs, without permission to finish another worker's job.

    A worker that was suspended for so long that others have taken over its jobs still believes that
    it has them.
    """

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """As in the base class, if the job still belongs to the same worker."""
        if await self._is_unchanged(job):
            await super().finish_job(job, status, delete_job)

    async def retry_job(self, job: Job, *rest: Any, **options: Any) -> None:
        """As in the base class, if the job still belongs to the same worker."""
        if await self._is_unchanged(job):
            await super().retry_job(job, *rest, **options)

    async def _is_unchanged(self, job: Job) -> bool:
        for stored in await self.list_jobs_async(id=job.id):
            return stored.status == Status.DOING.value and stored.worker_id == job.worker_id
        return False


class JobQueue:
    """An open queue."""

    def __init__(self, app: App, location: str) -> None:
        self.app = app
        self.jobs = OwnJobs(app.connector)
        app.job_manager = self.jobs
        self.location = location

    @classmethod
    @asynccontextmanager
    async def open(
        cls, address: str, retry_for: float, *, create: bool = True
    ) -> AsyncIterator[JobQueue]:
        """Open the queue in a database; create its tables if missing, unless `create` is False.

        Raises:
            StorageError: the database cannot be used.
        """
        connect_timeout = read_connect_timeout(address)
        connector = PsycopgConnector(
            conninfo=address,
            min_size=1,
            max_size=2,
            timeout=max(retry_for, connect_timeout),
            reconnect_timeout=connect_timeout,
            kwargs={"connect_timeout": connect_timeout},
        )
        queue = cls(App(connector=connector), describe_address(address))
        with queue.translate_errors():
            async with queue.app.open_async():
                if create:
                    await queue._create_tables()
                yield queue

    async def _create_tables(self) -> None:
        if await self.jobs.check_connection_async():
            return
        try:
            await self.app.schema_manager.apply_schema_async()
        except ConnectorException:
            # another process may have created them in the meantime
            if not await self.jobs.check_connection_async():
                raise

    async def add(self, runs: Sequence[QueuedJob]) -> None:
        """Queue runs, all or none. The runs of one thread are executed in order."""
        jobs = []
        for run in runs:
            values: Any = {"run": run.as_json()}
            lock = values["run"]["thread_id"]
            job = Job(
                queue=QUEUE, task_name=TASK, lock=lock, queueing_lock=None, task_kwargs=values
            )
            jobs.append(job)
        with self.translate_errors():
            await self.jobs.batch_defer_jobs_async(jobs)

    async def entries(self) -> list[QueueEntry]:
        """Return the waiting, running and failed runs.

        Without tables there are none.
        """
        with self.translate_errors():
            if not await self.jobs.check_connection_async():
                return []
            jobs = await self.jobs.list_jobs_async(queue=QUEUE, task=TASK)
        entries = []
        for job in jobs:
            if job.id is not None and job.status in _ACTIVE:
                run = _describe_run(job.task_kwargs["run"])
                entries.append(QueueEntry(job.id, run, job.status))
        return entries

    async def cancel(self, entry: QueueEntry) -> bool:
        """Remove a run from the queue, or ask its worker to stop it; return whether it existed.

        The worker notices after a few seconds.
        """
        with self.translate_errors():
            return await self.jobs.cancel_job_by_id_async(entry.job_id, abort=True, delete_job=True)

    async def return_stalled(self, silent_for: float) -> list[tuple[str, bool]]:
        """Requeue the runs of workers without a heartbeat, or give them up.

        Return their threads, and whether each was given up. `silent_for` is in seconds.
        """
        threads = []
        stalled = await self.jobs.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=silent_for)
        for job in stalled:
            takeovers = _describe_run(job.task_kwargs["run"]).takeovers + 1
            values = {"job_id": job.id, "worker_id": job.worker_id, "count": takeovers}
            await self.app.connector.execute_query_async(_COUNT_TAKEOVER, **values)
            is_given_up = takeovers > _MAX_TAKEOVERS
            if is_given_up:
                await self.jobs.finish_job(job, Status.FAILED, delete_job=False)
            else:
                await self.jobs.retry_job(job, retry_at=datetime.now(UTC))
            threads.append((str(job.lock), is_given_up))
        return threads

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn errors of the queue's database in the block into `StorageError`."""
        try:
            yield
        except ConnectorException as error:
            raise self.explain(error) from error
        except PoolTimeout as error:
            raise StorageUnavailableError(
                f"{self.location} did not answer ({error}); start the server, then try again."
            ) from error

    def explain(self, error: ConnectorException) -> StorageError:
        """Return the user-facing error for an error of the queue's database."""
        cause = error.__cause__
        reason = " ".join(str(cause or error).strip().splitlines()[:1]).rstrip(".:")
        if isinstance(cause, psycopg.errors.InsufficientPrivilege):
            return StorageError(
                f"The queue's tables in {self.location} cannot be created or used ({reason}); "
                "grant these rights to the role in MANUS_CHECKPOINT."
            )
        if isinstance(cause, _OTHER_SCHEMA):
            return StorageError(
                f"The queue's tables in {self.location} belong to another version of procrastinate "
                f"({reason}); install that version here, or apply procrastinate's migrations."
            )
        if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
            return StorageUnavailableError(
                f"{self.location} did not answer ({reason}); start the server, then try again."
            )
        return StorageError(f"The queue in {self.location} cannot be used: {reason}.")


def _describe_run(values: Any) -> QueuedJob:
    """Return a run without its input, for display; accept runs of newer versions."""
    names = ("thread_id", "kind", "request", "queued_at", "takeovers")
    shown = {name: values[name] for name in names if name in values}
    return QueuedJob(**shown, graph_input={}, options=values.get("options", {}))
