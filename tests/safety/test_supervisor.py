"""Under Landlock a supervisor ends the processes of a program, however the run ends."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from manus.calls.session import Session
from manus.sandbox.landlock import SUPERVISOR
from manus.tools.bash import Bash
from manus.tools.python_execute import PythonExecute
from tests.helpers.processes import lives, until

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.sandboxes("landlock")

DAEMONS = (
    "setsid sleep 4712 & echo $! >> pids; nohup sleep 4712 >/dev/null 2>&1 & echo $! >> pids; "
    "(setsid sh -c 'echo $$ >> pids; exec sleep 4712' &) ; "
    "(trap '' TERM HUP INT; echo $BASHPID >> pids; while :; do sleep 1; done) & "
    "until [ $(wc -l < pids) = 4 ]; do sleep 0.01; done"
)
RUN = """
import asyncio, sys
from pathlib import Path
from manus.tools.bash import Bash
from manus.tools.python_execute import PythonExecute
from tests.helpers.sessions import session_in

folder, tool, command = sys.argv[1:]

async def main():
    session = session_in(Path(folder))
    if tool == "bash":
        await Bash(session=session).observe(command=f"{command}; touch ready; sleep 4712")
    code = f"import subprocess, time; subprocess.run(['bash', '-c', {command!r}])"
    await PythonExecute(session=session).observe(code=f"{code}; open('ready', 'w'); time.sleep(60)")

asyncio.run(main())
"""


def read_pids(root: Path) -> list[str]:
    return (root / "pids").read_text().split()


@pytest.mark.parametrize("tool", ["bash", "python"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_nothing_survives_the_death_of_the_run(
    tmp_path: Path, tool: str, number: signal.Signals
) -> None:
    run = await asyncio.create_subprocess_exec(
        sys.executable, "-c", RUN, str(tmp_path), tool, DAEMONS, cwd=ROOT
    )
    await until(lambda: (tmp_path / "ready").exists())
    pids = read_pids(tmp_path)
    family = psutil.Process(run.pid).children(recursive=True)
    assert SUPERVISOR in [process.name() for process in family]
    assert [lives(pid) for pid in pids] == [True] * 4
    run.send_signal(number)
    await run.wait()
    await until(lambda: not any(map(lives, pids)))
    await until(lambda: not any(process.is_running() for process in family))


async def test_nothing_survives_the_end_of_the_session(session: Session, tmp_path: Path) -> None:
    assert not (await Bash(session=session).observe(command=DAEMONS)).is_error
    pids = read_pids(tmp_path)
    assert [lives(pid) for pid in pids] == [True] * 4
    await session.close()
    assert [lives(pid) for pid in pids] == [False] * 4


async def test_nothing_survives_the_end_of_the_program(session: Session, tmp_path: Path) -> None:
    code = f"import subprocess; subprocess.run(['bash', '-c', {DAEMONS!r}]); print('done')"
    output = await PythonExecute(session=session).observe(code=code)
    assert output.text.startswith("done\n[exit code 0]")
    assert [lives(pid) for pid in read_pids(tmp_path)] == [False] * 4


ENDINGS = {
    "import sys; sys.exit(7)": "[exit code 7, ",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "[killed by SIGKILL, ",
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": "[killed by SIGSEGV, ",
    "import os, signal; os.kill(0, signal.SIGTERM)": "[killed by SIGTERM, ",
    # tests that a shell runs in the background inherit an ignored SIGINT
    "import os, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "os.killpg(os.getpgid(0), signal.SIGINT)": "KeyboardInterrupt",
    "import os; print(os.getsid(0) == os.getpid())": "True",
    "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))": "set()",
}


@pytest.mark.parametrize("code", ENDINGS)
async def test_a_program_ends_as_without_a_supervisor(session: Session, code: str) -> None:
    assert ENDINGS[code] in (await PythonExecute(session=session).observe(code=code)).text


async def test_a_program_cannot_outlive_its_supervisor(session: Session, tmp_path: Path) -> None:
    """If it is killed anyway, for example by the user, the program itself ends with it.

    The programs that it has started do not: here there are none.
    """
    bash = Bash(session=session)
    command = "echo $$ > pids; exec sleep 4712"
    work = asyncio.ensure_future(bash.observe(command=command, timeout=60))
    await until(lambda: (tmp_path / "pids").exists() and read_pids(tmp_path))
    [pid] = read_pids(tmp_path)
    supervisor = psutil.Process(int(pid)).parent()
    assert supervisor is not None
    assert supervisor.name() == SUPERVISOR
    os.kill(supervisor.pid, signal.SIGKILL)
    assert "killed by SIGKILL" in (await work).text
    assert not lives(pid)


async def test_a_program_cannot_signal_its_supervisor(session: Session) -> None:
    code = "import os; os.kill(os.getppid(), 9); print('killed')"
    output = await PythonExecute(session=session).observe(code=code)
    assert "PermissionError" in output.text
