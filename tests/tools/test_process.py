"""Programs that a tool starts: their environment, and that nothing of them is left."""

import asyncio
import sys
from pathlib import Path

import pytest

from manus.tools.shell.process import Finished, run, scrubbed
from manus.tools.workspace import Workspace
from tests.helpers.processes import lives, until


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.prepare()
    return workspace


async def python(workspace: Workspace, code: str, seconds: float = 60) -> Finished:
    return await run([sys.executable, "-c", code], workspace=workspace, seconds=seconds)


def test_only_what_a_program_needs_passes() -> None:
    given = {
        "PATH": "/bin",
        "HOME": "/home/a",
        "LC_TIME": "C",
        "https_proxy": "http://proxy:1",
        "SSL_CERT_FILE": "/ca",
        "OPENAI_API_KEY": "secret",
        "MANUS_MODEL": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "BASH_ENV": "secret",
        "PYTHONPATH": "secret",
    }
    assert scrubbed(given) == {k: v for k, v in given.items() if v != "secret"}
    assert "/usr/bin" in scrubbed({})["PATH"].split(":")


FAMILY = """
import subprocess, sys, time
deaf = [sys.executable, "-c", "import signal, time\\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\nprint('up', flush=True)\\ntime.sleep(600)"]
plain = subprocess.Popen(["sleep", "600"])
session = subprocess.Popen(["sleep", "600"], start_new_session=True)
deaf = subprocess.Popen(deaf, stdout=subprocess.PIPE)
deaf.stdout.readline()
open("pids", "w").write(f"{plain.pid} {deaf.pid} {session.pid}\\n")
"""


async def test_a_cancelled_run_leaves_nothing(workspace: Workspace) -> None:
    task = asyncio.ensure_future(python(workspace, FAMILY + "time.sleep(600)"))
    written = workspace.root / "pids"
    await until(lambda: written.exists() and written.read_text().endswith("\n"))
    pids = written.read_text().split()
    assert [lives(pid) for pid in pids] == [True] * 3
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [lives(pid) for pid in pids] == [False] * 3


async def test_a_program_may_clean_up_before_it_is_killed(workspace: Workspace) -> None:
    code = "trap 'echo cleaned; exit' TERM; echo up; while :; do sleep 0.05; done"
    finished = await run(["bash", "-c", code], workspace=workspace, seconds=1)
    assert finished.returncode is None
    assert finished.output.endswith("cleaned\n")
