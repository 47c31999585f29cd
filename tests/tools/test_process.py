from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from manus.state.errors import ToolError, ToolUnavailableError
from manus.tools.shell.process import (
    LONGEST_PROGRAM,
    Finished,
    exit_state,
    prepare,
    program_text,
    run,
    scrubbed,
    start,
)
from manus.tools.workspace import Workspace

DEADLINE = 60.0


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.prepare()
    return workspace


async def python(workspace: Workspace, code: str, seconds: float = DEADLINE) -> Finished:
    argv = [sys.executable, "-c", code]
    return await run(argv, workspace=workspace, seconds=seconds)


async def until(condition: Callable[[], object], pause: float = 0.01) -> None:
    """Wait for a condition, and fail if it does not come."""
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(pause)


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_only_what_a_program_needs_passes() -> None:
    given = {
        "PATH": "/bin",
        "HOME": "/home/a",
        "LC_TIME": "C",
        "https_proxy": "http://proxy:1",
        "SSL_CERT_FILE": "/ca",
        "OPENAI_API_KEY": "secret",
        "MANUS_API_KEY": "secret",
        "MANUS_MODEL": "secret",
        "LANGSMITH_API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "BASH_ENV": "secret",
        "PYTHONPATH": "secret",
    }
    assert scrubbed(given) == {k: v for k, v in given.items() if v != "secret"}


def test_an_empty_environment_still_finds_programs() -> None:
    assert "/usr/bin" in scrubbed({})["PATH"].split(":")


async def test_a_process_has_no_secrets_no_terminal_no_input_and_its_own_session(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("MANUS_API_KEY", "sk-secret")
    finished = await python(
        workspace,
        "import os, sys\n"
        "print('sk-secret' in str(os.environ), os.getsid(0) == os.getpid(), os.getcwd())\n"
        "print(repr(sys.stdin.read()))\n"
        "try: open('/dev/tty')\n"
        "except OSError: print('no terminal')\n",
    )
    said = f"False True {workspace.root}\n''\nno terminal\n"
    assert finished == Finished(said, 0)


async def test_descriptors_are_passed_and_output_goes_where_it_should(workspace: Workspace) -> None:
    reading, writing = os.pipe()
    code = f"import os; os.write({writing}, b'through'); print('not seen')"
    launch = prepare([sys.executable, "-c", code], workspace=workspace)
    nowhere = asyncio.subprocess.DEVNULL
    process = await start(launch, output=nowhere, descriptors=[writing])
    assert await process.wait() == 0
    assert os.read(reading, 100) == b"through"
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize(
    ("code", "returncode"),
    [("pass", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9)],
)
async def test_the_exit_code(workspace: Workspace, code: str, returncode: int) -> None:
    assert await python(workspace, code) == Finished("", returncode)


async def test_what_was_printed_before_the_time_was_up_is_kept(workspace: Workspace) -> None:
    argv = ["sh", "-c", "echo before; sleep 600"]
    finished = await run(argv, workspace=workspace, seconds=3)
    assert finished == Finished("before\n", None)


FAMILY = """
import subprocess, sys, time
deaf = [sys.executable, "-c", "import signal, time\\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\nprint('up', flush=True)\\ntime.sleep(600)"]
plain = subprocess.Popen(["sleep", "600"])
session = subprocess.Popen(["sleep", "600"], start_new_session=True)
deaf = subprocess.Popen(deaf, stdout=subprocess.PIPE)
deaf.stdout.readline()
print(plain.pid, deaf.pid, session.pid, flush=True)
"""


async def test_nothing_of_its_session_is_left_at_its_end(workspace: Workspace) -> None:
    finished = await python(workspace, FAMILY)
    *pids, stray = (int(pid) for pid in finished.output.split())
    psutil.Process(stray).kill()  # it has left parent and session: nothing leads to it
    assert len(pids) == 2
    assert [pid for pid in pids if lives(pid)] == []


async def test_nothing_is_left_of_a_process_that_is_ended(workspace: Workspace) -> None:
    argv = [sys.executable, "-c", FAMILY + "time.sleep(600)"]
    reading, writing = os.pipe()
    process = await start(prepare(argv, workspace=workspace), output=writing)
    os.close(writing)
    with os.fdopen(reading) as output:
        pids = [int(pid) for pid in (await asyncio.to_thread(output.readline)).split()]
    assert len(pids) == 3
    assert all(lives(pid) for pid in pids)
    await process.end()
    assert process.returncode is not None
    assert [pid for pid in pids if lives(pid)] == []


async def test_a_program_may_clean_up_before_it_is_killed(workspace: Workspace) -> None:
    code = """
import signal, sys, time
def clean(*_):
    print("cleaned", flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, clean)
time.sleep(600)
"""
    assert (await python(workspace, code, seconds=3)).output == "cleaned\n"


async def test_a_cancelled_run_leaves_nothing(workspace: Workspace) -> None:
    argv = ["sh", "-c", "setsid sleep 600 & echo $! > pid; sleep 600"]
    task = asyncio.ensure_future(run(argv, workspace=workspace, seconds=DEADLINE))
    written = workspace.root / "pid"
    await until(lambda: written.exists() and written.read_text().endswith("\n"))
    pid = int(written.read_text())
    assert lives(pid)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not lives(pid)


async def test_a_program_that_is_not_there(workspace: Workspace) -> None:
    with pytest.raises(ToolUnavailableError, match=r"^no-such-program cannot be started \("):
        await run(["no-such-program"], workspace=workspace, seconds=DEADLINE)


async def test_a_workspace_that_is_not_there(tmp_path: Path) -> None:
    gone = Workspace(tmp_path / "gone")
    with pytest.raises(ToolUnavailableError, match=r"gone: No such file or directory"):
        await run(["true"], workspace=gone, seconds=DEADLINE)


@pytest.mark.parametrize(
    ("returncode", "said"),
    [
        (0, "exit code 0"),
        (3, "exit code 3"),
        (-9, "killed by SIGKILL"),
        (-11, "killed by SIGSEGV"),
        (-200, "killed by signal 200"),
    ],
)
def test_how_a_program_ended_in_words(returncode: int, said: str) -> None:
    assert exit_state(returncode) == said


def test_a_program_as_bytes() -> None:
    assert program_text("code", "é\n") == b"\xc3\xa9\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\0b", r"^`code` holds a NUL character"),
        ("\ud800", r"^`code` holds half of a surrogate pair"),
        ("x" * (LONGEST_PROGRAM + 1), r"^`code` has 4,000,001 characters"),
    ],
)
def test_text_that_is_no_program(text: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        program_text("code", text)
