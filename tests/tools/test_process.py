from __future__ import annotations

import asyncio
import os
import sys
import time
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
from manus.tools.shell.process_tree import MARK, end_tree, new_mark, tree
from manus.tools.workspace import Workspace

DEADLINE = 60.0


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.prepare()
    return workspace


async def python(workspace: Workspace, code: str, seconds: float = DEADLINE) -> Finished:
    argv = [sys.executable, "-c", code]
    return await run(argv, workspace=workspace, mark=new_mark(), seconds=seconds)


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
    mark = new_mark()
    code = f"import os; os.write({writing}, b'through'); print('not seen')"
    launch = prepare([sys.executable, "-c", code], workspace=workspace, mark=mark)
    nowhere = asyncio.subprocess.DEVNULL
    process = await start(launch, mark=mark, output=nowhere, descriptors=[writing])
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
    finished = await run(argv, workspace=workspace, mark=new_mark(), seconds=3)
    assert finished == Finished("before\n", None)


FAMILY = """
import os, signal, subprocess, sys, time
sleeper = [sys.executable, "-c", "import signal, sys, time\\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\nprint('up', flush=True)\\ntime.sleep(600)"]
plain = subprocess.Popen(["sleep", "600"])
session = subprocess.Popen(["sleep", "600"], start_new_session=True)
bare = subprocess.Popen(["sleep", "600"], env={}, start_new_session=True)
deaf = subprocess.Popen(sleeper, stdout=subprocess.PIPE)
deaf.stdout.readline()
reading, writing = os.pipe()
if os.fork() == 0:  # a daemon as in the books: fork, setsid, fork
    os.setsid()
    if os.fork() == 0:
        os.write(writing, str(os.getpid()).encode())
        os.execvp("sleep", ["sleep", "600"])
    os._exit(0)
os.wait()
daemon = int(os.read(reading, 20))
print(plain.pid, session.pid, bare.pid, deaf.pid, daemon, flush=True)
"""


async def test_nothing_that_it_started_is_left_at_its_end(workspace: Workspace) -> None:
    finished = await python(workspace, FAMILY)
    pids = [int(pid) for pid in finished.output.split()]
    assert len(pids) == 5
    # Without a parent, its session and its mark nothing leads to the third any more.
    stray = pids.pop(2)
    if lives(stray):
        psutil.Process(stray).kill()
    assert [pid for pid in pids if lives(pid)] == []


async def test_nothing_is_left_of_a_process_that_is_ended(workspace: Workspace) -> None:
    mark = new_mark()
    code = FAMILY + "time.sleep(600)"
    launch = prepare([sys.executable, "-c", code], workspace=workspace, mark=mark)
    reading, writing = os.pipe()
    process = await start(launch, mark=mark, output=writing)
    os.close(writing)
    with os.fdopen(reading) as output:
        pids = [int(pid) for pid in (await asyncio.to_thread(output.readline)).split()]
    assert len(pids) == 5
    assert all(lives(pid) for pid in pids)
    await process.end()
    assert process.returncode is not None
    assert [pid for pid in pids if lives(pid)] == []


async def test_a_cancelled_run_leaves_nothing(workspace: Workspace) -> None:
    mark = new_mark()
    argv = ["sh", "-c", "setsid sleep 600 & sleep 600"]
    task = asyncio.ensure_future(run(argv, workspace=workspace, mark=mark, seconds=DEADLINE))
    await until(lambda: len(tree(mark)) >= 3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tree(mark) == []


async def test_a_run_cancelled_while_it_starts_leaves_nothing(workspace: Workspace) -> None:
    mark = new_mark()
    argv = ["sh", "-c", "setsid sleep 600 & sleep 600"]
    task = asyncio.ensure_future(run(argv, workspace=workspace, mark=mark, seconds=DEADLINE))
    await until(lambda: tree(mark), pause=0)
    deadline = time.monotonic() + DEADLINE
    while len(tree(mark)) < 3:  # without a turn for the task, which has only just begun
        assert time.monotonic() < deadline
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tree(mark) == []


async def test_processes_of_another_mark_are_left_alone(workspace: Workspace) -> None:
    mine, other = new_mark(), new_mark()
    nowhere = asyncio.subprocess.DEVNULL
    for mark in (mine, other):
        launch = prepare(["sleep", "600"], workspace=workspace, mark=mark)
        await start(launch, mark=mark, output=nowhere)
    await end_tree(mine)
    assert tree(mine) == []
    assert len(tree(other)) == 1
    await end_tree(other)
    assert tree(other) == []


def test_an_agent_inside_an_agent_bears_both_marks(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, "outer")
    launch = prepare(["true"], workspace=workspace, mark="inner")
    assert launch.environment[MARK] == "outer:inner"


async def test_a_program_that_is_not_there(workspace: Workspace) -> None:
    with pytest.raises(ToolUnavailableError, match=r"^no-such-program cannot be started \("):
        await run(["no-such-program"], workspace=workspace, mark=new_mark(), seconds=DEADLINE)


async def test_a_workspace_that_is_not_there(tmp_path: Path) -> None:
    gone = Workspace(tmp_path / "gone")
    with pytest.raises(ToolUnavailableError, match=r"gone: No such file or directory"):
        await run(["true"], workspace=gone, mark=new_mark(), seconds=DEADLINE)


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
