"""Killed at any commit to the store: `manus resume` continues, nothing is lost or done twice.

A monitor (strace) kills the program at the n-th write to the database's log.
"""

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from manus.config.settings import Settings
from manus.graph import build_graph
from manus.threads.open_store import open_store
from tests.cli.program import Program, Result
from tests.flow.helpers import is_planner, is_summary, makes
from tests.helpers.agent import assert_paired, thread_config
from tests.helpers.child import server_pid
from tests.server import Request, ScriptedServer, call, text

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]

ALL_DONE = "All done."
PROFILE = '[profiles.small]\ntools = ["bash", "terminate"]\nsystem_prompt = "Work."\n'


def reply_from_conversation(request: Request) -> Any:
    """Reply with one effect, then the answer, depending on the conversation only."""
    effect = call("bash", command="echo ran >> effects; seq 3000")
    if is_planner(request):
        return makes("alpha")
    is_done = is_summary(request) or any(m["role"] == "tool" for m in request.messages)
    return text(ALL_DONE) if is_done else effect


@contextmanager
def trace_forks(pid: int, out: Path, *options: str) -> Iterator[None]:
    """Trace with strace whatever a process forks in the block."""
    command = ["strace", "-f", "-p", str(pid), "-o", str(out), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as monitor:
        try:
            assert monitor.stderr is not None
            assert "attached" in monitor.stderr.readline()
            yield
        finally:
            monitor.terminate()


def commits(trace: Path) -> list[int]:
    """Return which of the traced writes to a write-ahead log start a transaction, counted from one.

    Being killed at any other write of a transaction has the same result. A frame is a header of
    24 bytes and a page; the last header of a transaction contains the size of the database.
    """
    numbers = [1]
    calls = [line for line in trace.read_text().splitlines() if ") = " in line or "<unf" in line]
    for number, line in enumerate(calls, 1):
        header = re.search(r'"((?:\\x..){24})", 24,', line)
        if header is not None and header[1][16:32] != r"\x00\x00\x00\x00":
            numbers.append(number + 2)
    return numbers


@pytest.mark.parametrize(
    ("command", "every"), [("run", 2), pytest.param("flow", 8, marks=pytest.mark.exhaustive)]
)
async def test_a_run(
    manus: Program,
    server: ScriptedServer,
    tmp_path: Path,
    command: str,
    every: int,
    subtests: pytest.Subtests,
) -> None:
    server.always(reply_from_conversation)
    (manus.home / "manus.toml").write_text(PROFILE)
    # strace stops at each system call: a shell without a sandbox makes the fewest
    manus.environment |= {"MANUS_SANDBOX": "none", "MANUS_APPROVE": "yolo"}
    assert manus("threads").code == 0, "the store is created"
    trace = tmp_path / "trace"

    def begin(place: str) -> Result:
        """Run in a workspace and on a thread with this name."""
        where = ("--workspace", str(manus.home / place), "--profile", "small")
        return manus(command, "--json", "--thread", place, *where, "Do it.")

    def watched(place: str, *options: str) -> Result:
        """Do the same, and record the writes to the store."""
        writes = ("-xx", "-s", "24", "-P", f"{manus.database}-wal", "-e", "trace=pwrite64")
        with trace_forks(server_pid(), trace, *writes, *options):
            return begin(place)

    assert watched("whole").code == 0
    points = {f"t{number}": number for number in commits(trace)[::every]}
    killed = 0
    for place, number in points.items():
        with subtests.test(place=place, number=number):
            inject = f"inject=pwrite64:signal=SIGKILL:when={number}"
            first = watched(place, "-e", inject)
            killed += first.code == -signal.SIGKILL
            result = manus("resume", "--json", place) if first.code else first
            if "There is no thread" in result.err:  # as a user does after reading that message
                result = begin(place)
            assert (result.code, result.json["output"]) == (0, ALL_DONE), (number, result.err)
            assert (manus.home / place / "effects").read_text() == "ran\n", number
    assert killed >= len(points) // 2, "a run may need fewer writes than the previous one"
    async with open_store(Settings(checkpoint=str(manus.database))) as store:
        graph = build_graph("flow" if command == "flow" else "agent", "swe", store.saver)
        answers = 2 if command == "run" else 1  # an answer after a call is sent back once
        for place in points:  # one request, each call answered once
            with subtests.test(place=place):
                history = (await graph.aget_state(thread_config(place))).values["messages"]
                assert_paired(history)
                assert sum(m.type == "human" and m.text == "Do it." for m in history) == 1
                assert sum(m.text == ALL_DONE for m in history) == answers
