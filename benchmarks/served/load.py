"""Many threads at once on two instances: processor time, connections and memory."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from benchmarks.served.cluster import Cluster, start_cluster, until
from benchmarks.served.scenarios import Result, count
from benchmarks.served.tools import PAUSE

_SAMPLE_INTERVAL = 0.5
_CONNECTIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@dataclass(frozen=True)
class Sample:
    """The resources that the instances and the database used for concurrent runs."""

    result: Result
    wall: float
    instance_cpu: float
    """Seconds of processor time of both instances."""
    database_cpu: float
    connections: int
    """Largest number of connections of both instances."""
    memory: int
    """Resident set size in bytes of the larger instance afterwards."""


def format_head() -> str:
    """Return the first lines of the table."""
    return (
        "| agent | runs | steps of each | wall s | CPU ms a step: instances | PostgreSQL "
        "| connections of an instance | memory MB of an instance | effects |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    )


def format_row(name: str, steps: int, sample: Sample) -> str:
    """Return a row of the table."""
    result = sample.result
    number = result.runs * steps
    cells = [name, f"{result.succeeded} of {result.runs}", steps, f"{sample.wall:.0f}"]
    cells += [f"{1000 * sample.instance_cpu / number:.0f}"]
    cells += [f"{1000 * sample.database_cpu / number:.0f}", -(-sample.connections // 2)]
    cells += [f"{sample.memory / 1e6:.0f}", f"{result.effects} of {result.expected}"]
    return f"| {' | '.join(map(str, cells))} |"


async def measure_load(python: Path, graph: str, threads: int, steps: int) -> Sample:
    """Return what this many concurrent threads use, on two fresh instances."""
    settings = {PAUSE: "0", "WORKER_COUNT": "10", "LOG_LEVEL": "WARNING"}
    async with start_cluster(python, settings, "-c max_connections=200") as cluster:
        await _run_many(cluster, graph, 2, 1)  # loads modules that are imported lazily
        before = _read_cpu(cluster)
        start = time.monotonic()
        sampling = asyncio.create_task(_sample_connections(cluster))
        try:
            result = await _run_many(cluster, graph, threads, steps)
        finally:
            sampling.cancel()
        wall = time.monotonic() - start
        after = _read_cpu(cluster)
        return Sample(
            result=result,
            wall=wall,
            instance_cpu=after.instances - before.instances,
            database_cpu=after.database - before.database,
            connections=cluster.most_connections,
            memory=max(psutil.Process(i.pid).memory_info().rss for i in cluster.instances),
        )


async def _run_many(cluster: Cluster, graph: str, threads: int, steps: int) -> Result:
    clients = [cluster.client(instance) for instance in cluster.instances]
    runs = [
        await cluster.start_run(graph, steps, client=clients[number % 2])
        for number in range(threads)
    ]

    def have_all_effects() -> bool:
        return sum(len(cluster.effects(run)) for run in runs) >= threads * steps

    # the client reads files, because status requests would add to the load
    await until(have_all_effects, interval=_SAMPLE_INTERVAL, patience=1800)
    for run in runs:
        await cluster.wait_for_end(run, clients[0])
    return count(cluster, runs)


@dataclass(frozen=True)
class _Cpu:
    """Seconds of processor time."""

    instances: float
    database: float


def _read_cpu(cluster: Cluster) -> _Cpu:
    pid = (cluster.postgres.folder / "data" / "postmaster.pid").read_text().split()[0]
    database = psutil.Process(int(pid))
    times = database.cpu_times()
    end = times.children_user + times.children_system
    running = [database, *database.children(recursive=True)]
    return _Cpu(
        instances=sum(_own_time(psutil.Process(i.pid)) for i in cluster.instances),
        database=end + sum(map(_own_time, running)),
    )


def _own_time(process: psutil.Process) -> float:
    try:
        return sum(process.cpu_times()[:2])
    except psutil.NoSuchProcess:
        return 0.0


async def _sample_connections(cluster: Cluster) -> None:
    """Record the largest number of connections to the database, until cancelled."""
    connection = await psycopg.AsyncConnection.connect(cluster.database, autocommit=True)
    async with connection:
        while True:
            row = await (await connection.execute(_CONNECTIONS)).fetchone()
            assert row is not None
            cluster.most_connections = max(cluster.most_connections, row[0])
            await asyncio.sleep(_SAMPLE_INTERVAL)
