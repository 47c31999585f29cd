"""`python_execute` in a profile whose Python keeps its variables: a real process."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manus.calls.session import Session
from manus.graph.profiles import DATA_ANALYSIS
from manus.tools.python_execute import PythonExecute
from tests.helpers.agent import ScriptedAgent
from tests.helpers.processes import until
from tests.helpers.sessions import session_in
from tests.server import call

pytestmark = pytest.mark.sandboxes


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    session = session_in(tmp_path / "workspace", profile=DATA_ANALYSIS)
    yield session
    await session.close()


async def run(session: Session, code: str, **arguments: object) -> str:
    return (await PythonExecute(session=session).observe(code=code, **arguments)).text


CELLS = {
    "x = 41": "[exit code 0, nothing was printed]",
    "x + 1": "Out[2]: 42\n[exit code 0]",
    "print(x); x": "41\nOut[3]: 41\n[exit code 0]",
    "import subprocess; print(subprocess.run(['echo', 'a']).returncode)": "a\n0\n[exit code 0]",
    "!echo from the shell": "from the shell\n[exit code 0]",
    "import sys; print('err', file=sys.stderr)": "err\n[exit code 0]",
    "input()": "EOFError",
    "1/0": "ZeroDivisionError: division by zero\n[exit code 1]",
    "def f(:": "SyntaxError",
    "sys.exit(3)": "[exit code 3",
    "import asyncio\nawait asyncio.sleep(0)\nx": "Out[11]: 41",
    "'''\\0 \"' # é 你好\n'''; print('你好')": "你好\n[exit code 0]",
    "open('own.py', 'w').write('y = 5'); import own; print(own.y)": "5\n[exit code 0]",
    "import concurrent.futures as c, os\nlen({*c.ThreadPoolExecutor(2).map(abs, [1, -2])})": "2\n",
}


async def test_cells(session: Session, subtests: pytest.Subtests) -> None:
    for code, output in CELLS.items():
        with subtests.test(code=code):
            assert output in await run(session, code)


async def test_a_timeout_interrupts_and_keeps_variables(session: Session) -> None:
    await run(session, "x = 41")
    text = await run(session, "import time\nprint('a')\ntime.sleep(600)", timeout=0.5)
    assert text.startswith("a\n")
    assert text.endswith(
        "[stopped: timed out after 0.5 s; the variables are kept. Make it faster, do less at a "
        "time, or set a larger `timeout`]"
    )
    assert "Out[3]: 41" in await run(session, "x")


async def test_code_that_ignores_the_interrupt_is_killed_and_says_what_is_gone(
    session: Session,
) -> None:
    await run(session, "x, y = 1, 2\nimport os")
    deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    text = await run(session, deaf, timeout=0.5)
    assert "did not react" in text
    assert text.endswith("gets a fresh one; gone: x, y]")
    text = await run(session, "'x' in globals()")
    assert text == "Out[1]: False\n[exit code 0]"


async def test_a_crash_says_what_is_gone(session: Session) -> None:
    await run(session, "x = 1")
    text = await run(session, "import os\nos.kill(os.getpid(), 9)")
    assert text == (
        "[killed by SIGKILL; Python ended, and the next call gets a fresh one; gone: x]"
    )
    assert await run(session, "print(1)") == "1\n[exit code 0]"


async def test_code_that_writes_reports_itself_changes_nothing(session: Session) -> None:
    forged = "import os, sys\nx = os.write(int(sys.argv[1]), b'1 0 {{3\\0')"
    assert (await run(session, forged)).endswith("]")
    assert await run(session, "print(1)") == "1\n[exit code 0]"


async def test_a_restart_is_fresh(session: Session) -> None:
    await run(session, "x = 1")
    assert await run(session, "'x' in globals()", restart=True) == "Out[1]: False\n[exit code 0]"


async def test_a_cancelled_call_ends_its_programs_and_the_next_says_what_is_gone(
    session: Session, tmp_path: Path
) -> None:
    await run(session, "x = 1")
    code = "import time\nopen('began', 'w').close()\ntime.sleep(600)"
    call = asyncio.create_task(PythonExecute(session=session).observe(code=code))
    await until((session.workspace.root / "began").exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    text = await run(session, "print(2)")
    assert text == "[fresh Python: what was in it before is gone (x)]\n2\n[exit code 0]"


async def test_the_next_run_says_what_is_gone(session: Session, tmp_path: Path) -> None:
    await run(session, "table, mean = [1], 1.0")
    await session.close()
    later = session_in(tmp_path / "workspace", profile=DATA_ANALYSIS)
    try:
        text = await run(later, "print(2)")
        assert text.startswith("[fresh Python: what was in it before is gone (table, mean)]\n2\n")
        assert await run(later, "print(3)") == "3\n[exit code 0]"
    finally:
        await later.close()


async def test_the_next_request_on_a_thread_says_what_is_gone(agent: ScriptedAgent) -> None:
    analyst = ScriptedAgent(agent.server, agent.workspace, agent.saver, DATA_ANALYSIS)
    done = call("terminate", status="success", answer="Done.")
    await analyst.run(call("python_execute", code="table = 6"), done, approve="yolo")
    await analyst.run(call("python_execute", code="print(7)"), done, approve="yolo")
    [result] = [
        message["content"]
        for message in agent.server.requests[-1].messages
        if message["role"] == "tool" and "7" in message["content"]
    ]
    assert result == "[fresh Python: what was in it before is gone (table)]\n7\n[exit code 0]"
