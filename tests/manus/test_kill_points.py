"""Killed at any write to the store: `manus resume` goes on, nothing is lost or done twice."""

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from manus.checkpoint import open_store
from manus.jobs import build
from manus.state.settings import Settings
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.helpers.agent import assert_paired, thread_config
from tests.manus.kill_points import HAS_STRACE, commits, count, monitored
from tests.manus.postgres_server import PostgresServer, binaries
from tests.manus.program import Program, Result
from tests.server import Request, ScriptedServer, call, text

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not HAS_STRACE, reason="strace is not installed"),
]

EFFECT = call("bash", command="echo ran >> effects; seq 3000")
ALL_DONE = "All done."


def working(request: Request) -> Any:
    """One effect, then the answer; told from the conversation alone."""
    return text(ALL_DONE) if any(m["role"] == "tool" for m in request.messages) else EFFECT


def asking(request: Request) -> Any:
    """A question, an effect, the answer."""
    found = sum(m["role"] == "tool" for m in request.messages)
    return (call("ask_human", inquire="On?"), EFFECT, text(ALL_DONE))[found]


@dataclass
class Sweep:
    """One job, run anew for each point at which it is killed."""

    manus: Program
    monitor: tuple[str, ...]
    command: str = "run"
    every: int = 1
    """Of so many points one is tried."""
    until_asked: bool = False
    """Whether what is killed is the answer to the run's question, not the run."""

    def killed(self, place: str, pid: int, trace: Path, *options: str) -> Result:
        """The job, watched."""
        if self.until_asked:
            assert self.start(place).json["stop_reason"] == "interrupted"
        with monitored(pid, trace, *self.monitor, *options):
            return self.answer(place) if self.until_asked else self.start(place)

    def start(self, place: str) -> Result:
        where = ("--workspace", str(self.manus.home / place), "--profile", "swe_asking")
        return self.manus(self.command, "--json", "--thread", place, *where, "Do it.")

    def answer(self, place: str) -> Result:
        return self.manus("resume", "--json", place, "--answer", "yes")

    def gone_on(self, place: str) -> Result:
        """The same thread, gone on with as a user does who reads what is said."""
        ended = self.manus("resume", "--json", place)
        if ended.code == 2 and "There is no thread" in ended.err:  # nothing was stored yet
            ended = self.start(place)
        return self.answer(place) if ended.json["stop_reason"] == "interrupted" else ended

    def points(self, pid: int, trace: Path) -> list[int]:
        """Where to kill, from one run that is not."""
        assert self.killed("whole", pid, trace).code in (0, 1)
        if "pwrite64" in self.monitor[-1]:
            return commits(trace)[:: self.every]
        return list(range(1, count(trace) + 1, self.every))

    async def run(self, tmp_path: Path, *, store: str) -> None:
        pid, trace = self.manus.nursery_pid, tmp_path / "trace"
        points = self.points(pid, trace)
        call_name = self.monitor[-1].partition("=")[2]
        killed = 0
        for number in points:
            inject = f"inject={call_name}:signal=SIGKILL:when={number}"
            first = self.killed(f"t{number}", pid, trace, "-e", inject)
            killed += first.code == -signal.SIGKILL
            ended = self.gone_on(f"t{number}") if first.code else first
            assert (ended.code, ended.json["output"]) == (0, ALL_DONE), (number, ended.err)
            effects = (self.manus.home / f"t{number}" / "effects").read_text()
            assert effects == "ran\n", number
        assert killed >= len(points) // 2, "one may need some writes less than the one before"
        await self.check([f"t{number}" for number in points], store)

    async def check(self, threads: list[str], store: str) -> None:
        """All histories are whole: one request, each call answered once, one last word."""
        kind = "flow" if self.command == "flow" else "agent"
        async with open_store(Settings(checkpoint=store)) as opened:
            graph = build(kind, "swe", opened.saver)
            for thread in threads:
                history = (await graph.aget_state(thread_config(thread))).values["messages"]
                assert_paired(history)
                assert sum(m.type == "human" and m.text == "Do it." for m in history) == 1
                assert sum(m.text == ALL_DONE for m in history) == 1


@pytest.fixture
def job(manus: Program) -> Program:
    """The program with a small profile, and its store made."""
    (manus.home / "manus.toml").write_text(
        '[profiles.swe_asking]\ndescription = "For tests."\n'
        'tools = ["bash", "ask_human", "terminate"]\nsystem_prompt = "Work."\n'
    )
    # a monitor stops at each call of the system: a shell without walls makes the fewest
    manus.environment["MANUS_SANDBOX"] = "none"
    assert manus("threads").code == 0
    return manus


def on_sqlite(manus: Program, **more: Any) -> Sweep:
    log = f"{manus.database}-wal"
    return Sweep(manus, ("-xx", "-s", "24", "-P", log, "-e", "trace=pwrite64"), **more)


async def test_an_agent(job: Program, server: ScriptedServer, tmp_path: Path) -> None:
    server.always(working)
    await on_sqlite(job, every=2).run(tmp_path, store=str(job.database))


async def test_an_answer(job: Program, server: ScriptedServer, tmp_path: Path) -> None:
    server.always(asking)
    await on_sqlite(job, until_asked=True, every=6).run(tmp_path, store=str(job.database))


async def test_a_flow(job: Program, server: ScriptedServer, tmp_path: Path) -> None:
    server.when(is_planner).always(makes("alpha"))
    server.when(is_summary).always(text(ALL_DONE))
    server.when(is_step("alpha")).always(
        lambda r: succeeds() if any(m["role"] == "tool" for m in r.messages) else EFFECT
    )
    await on_sqlite(job, command="flow", every=8).run(tmp_path, store=str(job.database))


@pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed")
async def test_an_agent_on_postgres(
    job: Program, server: ScriptedServer, tmp_path: Path, postgres: PostgresServer
) -> None:
    """Killed at some of the things that it sends, to the database or to the model."""
    url = postgres.new_database()
    job.environment["MANUS_CHECKPOINT"] = url
    server.always(working)
    await Sweep(job, ("-e", "trace=sendto"), every=100).run(tmp_path, store=url)
