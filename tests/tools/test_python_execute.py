"""`python_execute`: Python in a real process."""

from pathlib import Path

import pytest

from manus.tools.python_execute import PythonExecute
from manus.tools.session import Session
from tests.helpers.processes import lives


@pytest.fixture
def python(session: Session) -> PythonExecute:
    return PythonExecute(session=session)


ENDINGS = {
    "prints": ("print('a')", "a\n[exit code 0]"),
    "silent": ("1 + 1", "[exit code 0, nothing was printed]"),
    "input": (
        "try: input()\nexcept EOFError as error: print(error)",
        "EOF when reading a line\n[exit code 0]",
    ),
    "sys.exit": ("import sys\nprint('a')\nsys.exit(3)", "a\n[exit code 3]"),
    "a signal": (
        "import os, signal\nprint('a')\nos.kill(os.getpid(), signal.SIGSEGV)",
        "a\n[killed by SIGSEGV]",
    ),
    "main and its processes": (
        "import multiprocessing\n"
        "def square(n): return n * n\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
        "        print(pool.map(square, range(4)))\n",
        "[0, 1, 4, 9]\n[exit code 0]",
    ),
}


async def test_output_and_exit_state(python: PythonExecute) -> None:
    for name, (code, said) in ENDINGS.items():
        observation = await python.observe(code=code)
        assert observation.text == said, name
        assert observation.is_error == ("[exit code 0" not in said), name


async def test_what_came_before_an_error_and_its_line_are_shown(python: PythonExecute) -> None:
    code = "print('before')\ndef f():\n    return 1 / 0\nf()"
    said = (await python.observe(code=code)).text
    name = said.split('"')[1]
    assert said.startswith("before\nTraceback (most recent call last):\n")
    assert f'File "{name}", line 3, in f\n    return 1 / 0\n' in said
    assert said.endswith("ZeroDivisionError: division by zero\n[exit code 1]")
    assert (python.session.workspace.root / name).read_text().startswith("print('before')")
    assert str(python.session.workspace.root) not in said


async def test_it_works_in_the_workspace_and_imports(python: PythonExecute, root: Path) -> None:
    (root / "mine.py").write_text("def f(): return 'mine'\n")
    code = (
        "import os, mine, subprocess, sys\n"
        "print(mine.f(), os.listdir('.').count('mine.py'))\n"
        "os.chdir('/')\n"
        "subprocess.run([sys.executable, '-c', 'import mine; print(mine.f())'])\n"
    )
    assert (await python.observe(code=code)).text == "mine 1\nmine\n[exit code 0]"


async def test_a_time_out_keeps_the_output_and_ends_all(python: PythonExecute, root: Path) -> None:
    code = (
        "import subprocess, time\n"
        "jobs = [subprocess.Popen(['sleep', '600'], start_new_session=s) for s in (0, 1)]\n"
        "open('pids', 'w').write(' '.join(str(job.pid) for job in jobs))\n"
        "print('before')\n"
        "time.sleep(600)\n"
    )
    observation = await python.observe(code=code, timeout=1)
    assert observation.is_error
    assert observation.text.startswith("before\n[stopped: not done after 1 s")
    pids = (root / "pids").read_text().split()
    assert [lives(pid) for pid in pids] == [False, False]
