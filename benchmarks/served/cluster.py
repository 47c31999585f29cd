"""Two instances on one PostgreSQL server and one Redis server, and the runs of a client."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph_sdk import get_client

from benchmarks.served.instance import TOKEN, Instance, Redis
from benchmarks.served.model import ModelServer
from benchmarks.served.tools import EFFECTS
from tests.threads.postgres_server import PostgresServer, running

GRAPHS = ("agent", "flow", "langchain_agent")
_ENDED = {"success", "error", "interrupted", "timeout"}
_PATIENCE = 180.0
_SETTINGS = {
    "REDIS_BROKER_ENABLED": "true",
    "LEASE_DURATION_SECONDS": "7",
    "HEARTBEAT_INTERVAL_SECONDS": "3",
    "REAPER_INTERVAL_SECONDS": "3",
    "WORKER_DRAIN_TIMEOUT": "1",
    "POSTGRES_POLL_INTERVAL_SECONDS": "1",
    # each idle connection in a pool delays its first user after a restart of the database
    "LANGGRAPH_MIN_POOL_SIZE": "1",
    "LOG_LEVEL": "INFO",
    "LOG_VERBOSITY": "standard",
    "MANUS_MODEL": "scripted",
    "MANUS_RETRY_FOR": "60",
}


@dataclass(frozen=True)
class Effect:
    """A line that a tool call wrote."""

    number: int
    pid: int
    time: float


@dataclass
class Run:
    """A run of a client, and the thread that it belongs to."""

    name: str
    graph: str
    calls: int
    thread_id: str
    files: list[str] = field(default_factory=list)
    run_id: str = ""
    status: str = ""


class Cluster:
    """Two instances, the services that they share, and a client for each instance."""

    def __init__(
        self,
        postgres: PostgresServer,
        database: str,
        model: ModelServer,
        instances: list[Instance],
        folder: Path,
    ) -> None:
        self.postgres = postgres
        self.database = database
        self.most_connections = 0
        self.model = model
        self.instances = instances
        self.effects_folder = folder / "effects"
        self._clients = [
            get_client(url=i.url, headers={"Authorization": f"Bearer {TOKEN}"}) for i in instances
        ]
        self._names = Counter[str]()

    async def close(self) -> None:
        """Close the connections of the clients."""
        for client in self._clients:
            await client.aclose()

    def client(self, instance: Instance) -> Any:
        return self._clients[self.instances.index(instance)]

    def other(self, instance: Instance) -> Instance:
        return next(other for other in self.instances if other is not instance)

    async def start_run(
        self,
        graph: str,
        calls: int,
        *,
        options: str = "",
        steps: int = 0,
        client: Any = None,
    ) -> Run:
        """Create a thread, and start a run on it."""
        client = client or self._clients[0]
        self._names[graph] += 1
        name = f"{graph.replace('_', '-')}-{self._names[graph]}"
        thread = await client.threads.create()
        files = [f"{name}.{number}" for number in range(steps)] or [name]
        run = Run(name, graph, calls, thread["thread_id"], files)
        text = f"run {name} of {calls} calls{options}"
        await self.request(run, text, client)
        return run

    async def request(self, run: Run, text: str, client: Any) -> None:
        """Start another run on the thread of a run."""
        key = "messages" if run.graph == "langchain_agent" else "request"
        value: Any = [{"role": "user", "content": text}] if key == "messages" else text
        await self._create(run, client, input={key: value})

    async def answer(self, run: Run, answer: str, client: Any) -> None:
        """Answer the question of a run."""
        await self._create(run, client, command={"resume": answer})

    async def resume(self, run: Run, client: Any) -> None:
        """Resume the thread of a run that its server has given up."""
        await self._create(run, client, input=None)

    async def _create(self, run: Run, client: Any, **options: Any) -> None:
        created = await client.runs.create(run.thread_id, run.graph, **options)
        run.run_id = created["run_id"]

    async def wait_for_end(self, run: Run, client: Any) -> None:
        """Wait until a run has ended, and record its status."""

        async def has_ended() -> bool:
            run.status = (await client.runs.get(run.thread_id, run.run_id))["status"]
            return run.status in _ENDED

        deadline = time.monotonic() + _PATIENCE
        while not await has_ended():
            if time.monotonic() > deadline:
                return
            await asyncio.sleep(0.2)

    def effects(self, run: Run) -> list[Effect]:
        """Return the lines that the calls of a run wrote, in chronological order."""
        lines = []
        for name in run.files:
            path = self.effects_folder / name
            lines += path.read_text().splitlines() if path.exists() else []
        effects = [Effect(int(n), int(pid), float(at)) for n, pid, at in map(str.split, lines)]
        return sorted(effects, key=lambda effect: effect.time)

    async def wait_for_effects(self, run: Run, number: int) -> Instance:
        """Wait until each file of a run has this many lines; return the executing instance."""

        def is_far_enough() -> bool:
            paths = [self.effects_folder / name for name in run.files]
            return all(p.exists() and len(p.read_text().splitlines()) >= number for p in paths)

        await until(is_far_enough)
        pid = self.effects(run)[-1].pid
        return next(instance for instance in self.instances if instance.pid == pid)


async def until(
    condition: Callable[[], bool], interval: float = 0.01, patience: float = _PATIENCE
) -> None:
    """Wait until a condition is true.

    Raises:
        TimeoutError: it did not come true.
    """
    async with asyncio.timeout(patience):
        while not condition():
            await asyncio.sleep(interval)


@asynccontextmanager
async def start_cluster(
    python: Path, settings: dict[str, str] | None = None, *postgres_options: str
) -> AsyncIterator[Cluster]:
    """Yield two instances that share nothing but PostgreSQL, Redis and the workspace."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
        folder.chmod(0o755)
        (folder / "effects").mkdir()
        (folder / "workspace").mkdir()
        (folder / "postgres").mkdir()
        postgres = stack.enter_context(running(folder / "postgres"))
        if postgres_options:
            postgres.stop()
            postgres.start(*postgres_options)
        redis = Redis(folder)
        stack.callback(redis.close)
        model = ModelServer()
        await model.start()
        stack.push_async_callback(model.close)
        config = folder / "aegra.json"
        source = Path(__file__).with_name("graphs.py")
        graphs = {name: f"{source}:{name}" for name in GRAPHS}
        durability = {"durability": "sync"}
        config.write_text(json.dumps({"graphs": graphs, "checkpointer": durability}))
        database = postgres.new_database()
        own = {
            "AEGRA_CONFIG": str(config),
            "DATABASE_URL": database,
            "REDIS_URL": redis.url,
            EFFECTS: str(folder / "effects"),
            "MANUS_WORKSPACE": str(folder / "workspace"),
            "MANUS_BASE_URL": model.base_url,
        }
        environment = {**_SETTINGS, **own, **(settings or {})}
        instances = [Instance(python, folder / name, environment) for name in ("one", "two")]
        for instance in instances:
            stack.callback(instance.kill)
            instance.start()
            instance.wait_until_ready()
        cluster = Cluster(postgres, database, model, instances, folder)
        stack.push_async_callback(cluster.close)
        yield cluster
