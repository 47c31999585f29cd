"""Operations that may slow down as finished threads accumulate: list, find, claim, start a run.

One run of ten steps is executed; its thread is then copied, rows and journal, as often as needed.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from langchain_core.runnables import RunnableConfig

from benchmarks.served.cluster import start_cluster
from benchmarks.served.model import ModelServer
from benchmarks.served.tools import EFFECTS, PAUSE, PROFILE
from manus.config.context import Context
from manus.config.settings import Settings
from manus.graph import build_agent
from manus.threads.base import Store
from manus.threads.open_store import open_store
from manus.threads.thread_list import find_thread, read_thread
from tests.threads.postgres_server import running

_REPEAT = 5
_SEED = "seed"
_LISTED = 20
"""Threads that `manus threads` lists."""
_TABLES = {
    "sqlite": ("checkpoints", "writes"),
    "postgres": (
        *("checkpoints", "checkpoint_blobs", "checkpoint_writes"),
        *("manus_journal", "manus_threads"),
    ),
}
_AEGRA_TABLES = ("thread", "runs", *_TABLES["postgres"])
_GENERATED = {"manus_journal": {"position"}}
"""Columns that the database fills in."""


@dataclass(frozen=True)
class Sample:
    """Milliseconds, the fastest of several attempts."""

    listing: float
    find: float
    """Find a thread by a prefix of its id; in Aegra by its id."""
    claim: float | None
    """Claim a thread; None if the server does it as part of a run."""
    run: float
    """A run of one step on a new thread."""
    resume: float
    """Another request, answered at once, on a finished thread of ten steps."""


def format_head() -> str:
    """Return the first lines of the table."""
    return (
        "| store | finished threads | list 20 threads ms | look up a thread by prefix ms "
        "| claim a thread ms | run of a step on a new thread ms "
        "| request on a finished thread ms |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    )


def format_row(name: str, size: int, sample: Sample) -> str:
    """Return a row of the table."""
    values = (sample.listing, sample.find, sample.claim, sample.run, sample.resume)
    cells = ["–" if value is None else f"{value:.1f}" for value in values]
    return f"| {name} | {size:,} | {' | '.join(cells)} |"


async def measure_growth(kind: str, sizes: list[int]) -> AsyncIterator[tuple[int, Sample]]:
    """Yield the cost of the operations for each number of threads in one kind of store."""
    with tempfile.TemporaryDirectory() as name, _new_database(kind, Path(name)) as address:
        folder = Path(name)
        model = ModelServer()
        await model.start()
        async with _open_agent(address, folder, model) as (store, run):
            await run(_SEED, 10)
            number = 1
            for size in sizes:
                _copy_threads(kind, address, number, size)
                number = size
                yield size, await _measure(store, run, size)
        await model.close()


@contextmanager
def _new_database(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield str(folder / "threads.sqlite")
        return
    folder.chmod(0o755)
    (folder / "postgres").mkdir()
    with running(folder / "postgres") as server:
        yield server.new_database()


@asynccontextmanager
async def _open_agent(
    address: str, folder: Path, model: ModelServer
) -> AsyncIterator[tuple[Store, Callable[[str, int], Awaitable[None]]]]:
    """Yield the store, and a function that runs this many steps on a thread."""
    os.environ.update({EFFECTS: str(folder), PAUSE: "0", "XDG_STATE_HOME": str(folder / "state")})
    context = Context(workspace=str(folder / "work"), model="scripted", base_url=model.base_url)
    async with open_store(Settings(checkpoint=address)) as store:
        graph = build_agent(PROFILE, checkpointer=store.saver)

        async def run(thread_id: str, steps: int) -> None:
            config = RunnableConfig(configurable={"thread_id": thread_id})
            request: Any = {"request": f"run {thread_id} of {steps} calls"}
            await graph.ainvoke(request, config, context=context, durability="sync")

        yield store, run


async def _measure(store: Store, run: Callable[[str, int], Awaitable[None]], size: int) -> Sample:
    async def list_threads() -> None:
        for thread_id in await store.recent(_LISTED):
            assert await read_thread(store, thread_id) is not None

    async def find() -> None:
        await find_thread(store, f"copy-{size - 1}")

    async def claim() -> None:
        async with store.hold("another"):
            pass

    numbers = iter(range(100))
    copies = iter(range(1, 100))
    return Sample(
        listing=await _time(list_threads),
        find=await _time(find),
        claim=await _time(claim),
        run=await _time(lambda: run(f"new-{size}-{next(numbers)}", 1)),
        resume=await _time(lambda: run(f"copy-{size - next(copies)}-", 10)),
    )


async def _time(operation: Callable[[], Awaitable[None]]) -> float:
    durations = []
    for _ in range(_REPEAT):
        start = time.monotonic()
        await operation()
        durations.append(1000 * (time.monotonic() - start))
    return min(durations)


async def measure_aegra_growth(python: Path, sizes: list[int]) -> AsyncIterator[tuple[int, Sample]]:
    """Yield the cost of Aegra's operations for each number of threads."""
    async with start_cluster(python, {PAUSE: "0", "LOG_LEVEL": "WARNING"}) as cluster:
        client = cluster.client(cluster.instances[0])
        seed = await cluster.start_run("agent", 10)
        await cluster.wait_for_end(seed, client)
        number = 1
        for size in sizes:
            _copy_rows(cluster.database, _AEGRA_TABLES, seed.thread_id, number, size)
            number = size
            yield size, await _measure_aegra(client, size)


async def _measure_aegra(client: Any, size: int) -> Sample:
    async def list_threads() -> None:
        assert await client.threads.search(limit=_LISTED)

    async def find() -> None:
        await client.threads.get(f"copy-{size - 1}-")

    async def wait(thread_id: str, calls: int) -> None:
        request = {"request": f"run aegra-{thread_id} of {calls} calls"}
        await client.runs.wait(thread_id, "agent", input=request)

    async def run() -> None:
        thread = await client.threads.create()
        await wait(thread["thread_id"], 1)

    copies = iter(range(1, 100))
    return Sample(
        listing=await _time(list_threads),
        find=await _time(find),
        claim=None,
        run=await _time(run),
        resume=await _time(lambda: wait(f"copy-{size - next(copies)}-", 10)),
    )


def _copy_threads(kind: str, address: str, first: int, end: int) -> None:
    """Copy the rows of the first thread, and its journal, to others."""
    if kind == "postgres":
        _copy_rows(address, _TABLES[kind], _SEED, first, end)
        return
    numbers = (
        f"WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n "
        f"WHERE i < {end - 1}) SELECT 'copy-' || i || '-' AS name FROM n"
    )
    with closing(sqlite3.connect(address)) as database, database:
        for table in _TABLES[kind]:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            database.execute(_copy_statement(table, columns, numbers, _SEED))
    journal = Path(f"{address}.journal")
    for number in range(first, end):
        for path in journal.glob(f"{_SEED}*"):
            shutil.copy(path, journal / path.name.replace(_SEED, f"copy-{number}-"))


def _copy_rows(address: str, tables: tuple[str, ...], source: str, first: int, end: int) -> None:
    """Copy the rows of a thread in a PostgreSQL database to others."""
    numbers = f"SELECT 'copy-' || i || '-' AS name FROM generate_series({first}, {end - 1}) i"
    with psycopg.connect(address, autocommit=True) as connection:
        for table in tables:
            query = "SELECT column_name FROM information_schema.columns WHERE table_name = %s"
            columns = [row[0] for row in connection.execute(query, (table,))]
            columns = [name for name in columns if name not in _GENERATED.get(table, ())]
            connection.execute(_copy_statement(table, columns, numbers, source).encode())
        connection.execute("ANALYZE")


def _copy_statement(table: str, columns: list[str], names: str, source: str) -> str:
    values = {name: f'"{name}"' for name in columns}
    values["thread_id"] = "new.name"
    if table == "runs":
        values["run_id"] = "new.name || run_id"
    return (
        f"INSERT INTO {table} ({', '.join(values)}) SELECT {', '.join(values.values())} "
        f"FROM {table}, ({names}) AS new WHERE thread_id = '{source}'"
    )
