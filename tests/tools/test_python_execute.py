from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from blockbuster import blockbuster_ctx

from manus.state.agent import ToolTask
from manus.state.errors import ToolUnavailableError
from manus.tools.call import call_tool
from manus.tools.catalog import Catalog
from manus.tools.locks import WORKSPACE, Resource
from manus.tools.python_execute import PythonExecute
from manus.tools.session import Session
from manus.tools.workspace import Workspace

STOPPED = (
    "[stopped: not done after {} s, and all that it had started is ended; make it quicker, "
    "do less at a time, or give a larger `timeout`]"
)


@pytest.fixture
def python(session: Session) -> PythonExecute:
    return PythonExecute(session=session)


async def say(python: PythonExecute, code: str, **more: Any) -> str:
    return (await python.observe(code=code, **more)).text


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


ENDINGS = {
    "prints": ("print('a')", "a\n[exit code 0]"),
    "silent": ("1 + 1", "[exit code 0, nothing was printed]"),
    "both streams": (
        "import sys\nprint(1)\nprint(2, file=sys.stderr)\nprint(3)",
        "1\n2\n3\n[exit code 0]",
    ),
    "sys.exit": ("import sys\nprint('a')\nsys.exit(3)", "a\n[exit code 3]"),
    "sys.exit with words": ("import sys\nsys.exit('no')", "no\n[exit code 1]"),
    "os._exit": ("import os\nprint('a')\nos._exit(4)", "a\n[exit code 4]"),
    "a signal": (
        "import os, signal\nprint('a')\nos.kill(os.getpid(), signal.SIGSEGV)",
        "a\n[killed by SIGSEGV]",
    ),
    "not UTF-8": (
        "import sys\nsys.stdout.buffer.write(b'\\xff\\0')\nprint('é')",
        "\ufffd\ufffdé\n[exit code 0]",
    ),
    "megabytes": ("print('x' * 5_000_000)", f"{'x' * 5_000_000}\n[exit code 0]"),
    "a megabyte of code": (f"x = '{'x' * 1_000_000}'\nprint(len(x))", "1000000\n[exit code 0]"),
    "main": (
        "print(__name__)\nif __name__ == '__main__': print('a')",
        "__main__\na\n[exit code 0]",
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
async def test_output_and_exit_state(python: PythonExecute, name: str) -> None:
    code, said = ENDINGS[name]
    observation = await python.observe(code=code)
    assert observation.text == said
    assert observation.is_error == ("[exit code 0" not in said)


async def test_what_was_printed_before_an_error_is_kept_and_the_line_is_shown(
    python: PythonExecute,
) -> None:
    said = await say(python, "print('before')\ndef f():\n    return 1 / 0\nf()")
    name = said.split('"')[1]
    assert said.startswith("before\nTraceback (most recent call last):\n")
    assert f'File "{name}", line 3, in f\n    return 1 / 0\n' in said
    assert said.endswith("ZeroDivisionError: division by zero\n[exit code 1]")
    assert (python.session.workspace.root / name).read_text().startswith("print('before')")
    assert str(python.session.workspace.root) not in said


async def test_a_syntax_error_shows_its_line(python: PythonExecute) -> None:
    said = await say(python, "x = 1\ny = (")
    assert ", line 2\n    y = (\n" in said
    assert "SyntaxError: '(' was never closed\n[exit code 1]" in said


async def test_the_same_code_gives_the_same_observation(tmp_path: Path) -> None:
    said = []
    for folder in ("one", "other"):
        workspace = Workspace(tmp_path / folder)
        workspace.prepare()
        python = PythonExecute(session=Session(workspace))
        said += [await say(python, "import os\nprint(os.environ)\nopen('nope')") for _ in range(2)]
    said = [text.replace(str(tmp_path / "one"), str(tmp_path / "other")) for text in said]
    assert len(set(said)) == 1


async def test_input_finds_no_input(python: PythonExecute) -> None:
    said = await say(python, "print('a')\ninput()")
    assert said.startswith("a\n")
    assert said.endswith("EOFError: EOF when reading a line\n[exit code 1]")


async def test_it_works_in_the_workspace_and_imports_from_it(
    python: PythonExecute, session: Session
) -> None:
    (session.workspace.root / "mine.py").write_text("def f(): return 'mine'\n")
    said = await say(
        python,
        "import os, mine, subprocess, sys\n"
        "print(mine.f(), os.listdir('.').count('mine.py'))\n"
        "os.chdir('/')\n"
        "subprocess.run([sys.executable, '-c', 'import mine; print(mine.f())'])\n",
    )
    assert said == "mine 1\nmine\n[exit code 0]"


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
async def test_multiprocessing(python: PythonExecute, method: str) -> None:
    said = await say(
        python,
        "import multiprocessing\n"
        "def square(n): return n * n\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(2) as pool:\n"
        "        print(pool.map(square, range(4)))\n",
    )
    assert said == "[0, 1, 4, 9]\n[exit code 0]"


async def test_a_process_of_its_own_each_time(python: PythonExecute) -> None:
    await say(python, "x = 1")
    assert "NameError: name 'x' is not defined" in await say(python, "print(x)")
    assert await say(python, f"import os\nprint(os.getpid() == {os.getpid()})") == (
        "False\n[exit code 0]"
    )


async def test_a_time_out_keeps_the_output_and_ends_everything(
    python: PythonExecute, session: Session
) -> None:
    code = (
        "import subprocess, time\n"
        "jobs = [subprocess.Popen(['sleep', '600'], start_new_session=s) for s in (0, 1)]\n"
        "open('pids', 'w').write(' '.join(str(job.pid) for job in jobs))\n"
        "print('before')\n"
        "time.sleep(600)\n"
    )
    observation = await python.observe(code=code, timeout=5)
    assert observation.is_error
    assert observation.text == f"before\n{STOPPED.format(5)}"
    pids = (session.workspace.root / "pids").read_text().split()
    assert [lives(int(pid)) for pid in pids] == [False, False]


@pytest.mark.parametrize(
    "code",
    [
        "while True: print('x' * 1000)",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass",
    ],
)
async def test_code_that_never_ends_is_stopped(python: PythonExecute, code: str) -> None:
    said = await say(python, code, timeout=1)
    assert said.endswith(STOPPED.format(1))
    assert len(said) < 8_000_000


async def test_what_it_leaves_behind_ends_with_it(python: PythonExecute, session: Session) -> None:
    said = await say(
        python,
        "import subprocess\n"
        "job = subprocess.Popen(['sleep', '600'])\n"
        "open('pid', 'w').write(str(job.pid))\n"
        "print('left')\n",
    )
    assert said == "left\n[exit code 0]"
    assert not lives(int((session.workspace.root / "pid").read_text()))


async def test_cancelling_ends_it(python: PythonExecute, session: Session) -> None:
    path = session.workspace.root / "pid"
    code = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    task = asyncio.ensure_future(python.observe(code=code))
    await until(lambda: path.exists() and path.read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not lives(int(path.read_text()))


async def test_two_sessions_at_once_do_not_interfere(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.prepare()
    one, other = (PythonExecute(session=Session(workspace)) for _ in range(2))
    # The first waits for a file that appears when the second has come and gone.
    waiting = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('went')"
    task = asyncio.ensure_future(say(one, waiting))
    assert await say(other, waiting, timeout=1) == STOPPED.format(1)
    (tmp_path / "go").touch()
    assert await task == "went\n[exit code 0]"


async def test_secrets_are_not_there(
    python: PythonExecute, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    said = await say(python, "import os\nprint(os.environ)")
    assert "PATH" in said
    assert "sk-secret" not in said


async def test_nothing_blocks_the_event_loop(python: PythonExecute) -> None:
    with blockbuster_ctx():
        assert await say(python, "print('a')") == "a\n[exit code 0]"
        assert await say(python, "import time\ntime.sleep(600)", timeout=1) == STOPPED.format(1)


async def test_the_workspace_is_what_it_touches(python: PythonExecute) -> None:
    assert python.resources({"code": "pass"}) == {Resource(WORKSPACE)}


async def test_code_that_cannot_be_written(python: PythonExecute, session: Session) -> None:
    (session.workspace.private / "python").write_text("in the way")
    with pytest.raises(ToolUnavailableError, match=r"^The code cannot be written to .manus/python"):
        await python.observe(code="pass")


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "`code` is missing"),
    "empty": ({"code": ""}, "`code` is empty; give the Python code to execute."),
    "blank": ({"code": " \n"}, "`code` is empty; give the Python code to execute."),
    "extra": ({"code": "pass", "lang": "py"}, "`lang`: there is no such argument"),
    "a number": ({"code": 5}, "`code` must be text"),
    "null": ({"code": None}, "`code` must be text"),
    "no time": ({"code": "pass", "timeout": "long"}, "`timeout` must be a number"),
    "no time at all": ({"code": "pass", "timeout": 0}, "`timeout` must be a number, more than 0"),
    "endless time": ({"code": "pass", "timeout": 1e12}, "`timeout` must be a number"),
    "NUL": ({"code": "print('\0')"}, "`code` holds a NUL character"),
    "half a character": ({"code": "print('\ud800')"}, "`code` holds half of a surrogate pair"),
    "enormous": ({"code": "x" * 10_000_000}, "`code` has 10,000,000 characters"),
}


@pytest.mark.parametrize("name", BAD)
async def test_bad_arguments_are_explained(
    python: PythonExecute, session: Session, name: str
) -> None:
    args, said = BAD[name]
    outcome = await call_tool(
        ToolTask(index=0, id="1", name="python_execute", args=args),
        session=session,
        catalog=Catalog([python]),
        key="k",
        max_observe=10_000,
    )
    assert outcome.message.status == "error"
    assert said in outcome.message.text
    assert len(outcome.message.text) < 1000
