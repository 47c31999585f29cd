"""Failures of a run that is served by two instances, and the outcome of its calls."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.served.cluster import Cluster, Run, until
from benchmarks.served.instance import Instance

CALLS = 8
MIDDLE = 4
"""Number of the call during which the failure occurs."""


@dataclass(frozen=True)
class Result:
    """The outcome of the calls of some runs."""

    runs: int
    succeeded: int
    effects: int
    expected: int
    doubled: int
    in_doubt: int
    repeated: int
    """Model requests that were answered more than once: paid twice."""
    takeover: float | None = None
    """Seconds from the failure to the first effect of the other instance."""

    @property
    def unreported(self) -> int:
        """Return the calls that were not executed and that no message reports as in doubt."""
        return max(0, self.expected - (self.effects - self.doubled) - self.in_doubt)


def count(cluster: Cluster, runs: list[Run], takeover: float | None = None) -> Result:
    """Return the outcome of the calls of the runs."""
    effects = 0
    distinct = 0
    for run in runs:
        for name in run.files:
            path = cluster.effects_folder / name
            numbers = Counter(line.split()[0] for line in _read_lines(path))
            effects += numbers.total()
            distinct += len(numbers)
    return Result(
        runs=len(runs),
        succeeded=sum(run.status == "success" for run in runs),
        effects=effects,
        expected=sum(run.calls * len(run.files) for run in runs),
        doubled=effects - distinct,
        in_doubt=sum(cluster.model.count_doubts(run.name) for run in runs),
        repeated=sum(cluster.model.count_repeated(run.name) for run in runs),
        takeover=takeover,
    )


async def killed(cluster: Cluster, graph: str) -> Result:
    """SIGKILL during a call; the other instance takes over the run."""
    run = await cluster.start_run(graph, CALLS)
    return await _kill_in_the_middle(cluster, run)


async def flow_killed(cluster: Cluster, graph: str) -> Result:
    """SIGKILL during three parallel steps of a flow."""
    run = await cluster.start_run(graph, CALLS, options=" in 3 steps", steps=3)
    return await _kill_in_the_middle(cluster, run)


async def _kill_in_the_middle(cluster: Cluster, run: Run) -> Result:
    holder = await cluster.wait_for_effects(run, MIDDLE)
    holder.kill()
    failure = time.monotonic()
    lost_pid = holder.pid
    await cluster.wait_for_end(run, cluster.client(cluster.other(holder)))
    result = count(cluster, [run], _takeover(cluster, run, failure, lost_pid))
    await _start(holder)
    return result


async def stopped(cluster: Cluster, graph: str) -> Result:
    """SIGSTOP during a call until the other instance has finished, then SIGCONT."""
    run = await cluster.start_run(graph, CALLS)
    holder = await cluster.wait_for_effects(run, MIDDLE)
    holder.send(signal.SIGSTOP)
    failure = time.monotonic()
    client = cluster.client(cluster.other(holder))
    await cluster.wait_for_end(run, client)
    finished = _count_finished(holder, run)
    holder.send(signal.SIGCONT)
    await until(lambda: _count_finished(holder, run) > finished)
    await cluster.wait_for_end(run, client)
    return count(cluster, [run], _takeover(cluster, run, failure, holder.pid))


async def cancelled(cluster: Cluster, graph: str) -> Result:
    """Cancellation during a call, through the other instance; then another run on the thread."""
    run = await cluster.start_run(graph, CALLS)
    holder = await cluster.wait_for_effects(run, MIDDLE)
    client = cluster.client(cluster.other(holder))
    await client.runs.cancel(run.thread_id, run.run_id)
    await until(lambda: _count_finished(holder, run) > 0)
    await cluster.wait_for_end(run, client)
    await cluster.request(run, f"run {run.name} of {CALLS} calls: continue.", client)
    await cluster.wait_for_end(run, client)
    return count(cluster, [run])


async def answered_elsewhere(cluster: Cluster, graph: str) -> Result:
    """A question whose answer reaches the other instance after SIGKILL of the one that asked."""
    run = await cluster.start_run(graph, CALLS, options=f" asking at {MIDDLE}")
    await cluster.wait_for_end(run, cluster.client(cluster.instances[0]))
    pid = cluster.effects(run)[-1].pid
    holder = next(instance for instance in cluster.instances if instance.pid == pid)
    holder.kill()
    failure = time.monotonic()
    client = cluster.client(cluster.other(holder))
    await cluster.answer(run, "Yes.", client)
    await cluster.wait_for_end(run, client)
    result = count(cluster, [run], _takeover(cluster, run, failure, pid))
    await _start(holder)
    return result


async def drained(cluster: Cluster, graph: str) -> Result:
    """SIGTERM, as in a rolling update; the run outlasts the drain timeout."""
    run = await cluster.start_run(graph, CALLS)
    holder = await cluster.wait_for_effects(run, MIDDLE)
    holder.send(signal.SIGTERM)
    failure = time.monotonic()
    pid = holder.pid
    client = cluster.client(cluster.other(holder))
    await cluster.wait_for_end(run, client)
    await until(holder.has_exited)
    result = count(cluster, [run], _takeover(cluster, run, failure, pid))
    await _start(holder)
    return result


async def database_restarted(cluster: Cluster, graph: str) -> Result:
    """Restart of PostgreSQL during a call; a run that was given up is resumed."""
    run = await cluster.start_run(graph, CALLS)
    holder = await cluster.wait_for_effects(run, MIDDLE)
    client = cluster.client(holder)
    await asyncio.to_thread(cluster.postgres.stop)
    await asyncio.to_thread(cluster.postgres.start)
    await asyncio.to_thread(holder.wait_until_ready)
    await cluster.wait_for_end(run, client)
    if run.status != "success":
        await cluster.resume(run, client)
        await cluster.wait_for_end(run, client)
    return count(cluster, [run])


async def many(cluster: Cluster, graph: str, threads: int = 50) -> Result:
    """Many threads at once; one instance is killed while they work."""
    client = cluster.client(cluster.instances[0])
    runs = [await cluster.start_run(graph, MIDDLE, client=client) for _ in range(threads)]

    def are_in_the_middle() -> bool:
        return sum(len(cluster.effects(run)) for run in runs) >= threads * MIDDLE // 2

    await until(are_in_the_middle)
    started = [cluster.effects(run) for run in runs if cluster.effects(run)]
    pids = Counter(effects[-1].pid for effects in started if len(effects) < MIDDLE)
    lost_pid = pids.most_common(1)[0][0]
    lost_instance = next(instance for instance in cluster.instances if instance.pid == lost_pid)
    client = cluster.client(cluster.other(lost_instance))
    lost_instance.kill()
    failure = time.monotonic()
    await _start(lost_instance)
    await asyncio.gather(*(cluster.wait_for_end(run, client) for run in runs))
    moved = [run for run in runs if {e.pid for e in cluster.effects(run)} > {lost_pid}]
    takeovers = [_takeover(cluster, run, failure, lost_pid) or 0.0 for run in moved]
    return count(cluster, runs, max(takeovers, default=None))


Scenario = Callable[[Cluster, str], Awaitable[Result]]
SCENARIOS: dict[str, Scenario] = {
    "SIGKILL": killed,
    "SIGSTOP, SIGCONT": stopped,
    "cancel": cancelled,
    "answer on the other instance": answered_elsewhere,
    "SIGTERM (update)": drained,
    "restart of PostgreSQL": database_restarted,
    "50 threads, SIGKILL": many,
    "flow, 3 parallel steps, SIGKILL": flow_killed,
}
FLOWS = frozenset({flow_killed})
"""Scenarios of a flow, for which `create_agent` has no counterpart."""


async def _start(instance: Instance) -> None:
    instance.start()
    await asyncio.to_thread(instance.wait_until_ready)


def _takeover(cluster: Cluster, run: Run, failure: float, lost_pid: int) -> float | None:
    """Return the seconds until another process wrote an effect, or None if none did."""
    times = [effect.time for effect in cluster.effects(run) if effect.pid != lost_pid]
    later = [time for time in times if time > failure]
    return min(later) - failure if later else None


def _count_finished(instance: Instance, run: Run) -> int:
    """Return how often the worker of an instance has released a run."""
    lines = instance.log.read_text(errors="replace").splitlines()
    return sum("Worker finished run" in line and run.run_id in line for line in lines)


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except FileNotFoundError:
        return []
