"""Programs that a tool starts: Python, their environment, how they end, what they print."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manus.calls.session import Session
from manus.sandbox.process import run, scrub_environment
from manus.sandbox.process_output import HEAD, TAIL, Capture
from manus.tools.python_execute import PythonExecute
from tests.helpers.processes import lives


def test_only_required_variables_are_passed() -> None:
    outside = {
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
    assert scrub_environment(outside) == {k: v for k, v in outside.items() if v != "secret"}
    assert "/usr/bin" in scrub_environment({})["PATH"].split(":")


async def test_a_program_may_clean_up_before_unresponsive_ones_are_killed(session: Session) -> None:
    code = (
        "(trap '' TERM; sleep 600; :) & echo $! > pids; setsid sleep 600 & echo $! >> pids; "
        "trap 'echo cleaned; exit' TERM; while :; do sleep 0.05; done"
    )
    finished = await run(["bash", "-c", code], workspace=session.workspace, seconds=1)
    assert finished.returncode is None
    assert finished.output.endswith("cleaned\n")
    pids = (session.workspace.root / "pids").read_text().split()
    assert [lives(pid) for pid in pids] == [False, False]


def captured(*pieces: bytes, head: int = HEAD, tail: int = TAIL) -> Capture:
    capture = Capture(head, tail)
    for piece in pieces:
        capture.add(piece)
    return capture


@given(st.lists(st.binary(max_size=60), max_size=30), st.integers(0, 40), st.integers(1, 40))
def test_the_chunking_of_a_stream_does_not_matter(
    pieces: list[bytes], head: int, tail: int
) -> None:
    output = b"".join(pieces)
    piecewise = captured(*pieces, head=head, tail=tail)
    at_once = captured(output, head=head, tail=tail)
    assert piecewise.text() == at_once.text()
    assert piecewise.dropped == at_once.dropped == max(0, len(output) - head - tail)


SHOWN = {
    b"a\xff\x00b\x1b\tc\x7f": "a\ufffd\ufffdb\ufffd\tc\ufffd",
    b"tab\tcr\r\n": "tab\tcr\n",
    b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07end": "red end",
    b"\x1b(B\x1b[mtput \x1b)0sgr0\x1b[m\x0f\a": "tput sgr0",
    b"N\bNA\bAM\bME\n_\bx": "NAME\nx",
    b"50%\b\b\b60%\b\b\b": "60%",
    b"\x1b]8;;https://x.org\x1b\\link\x1b]8;;\x07, \x1bP1$q\x1b\\": "link, ",
    b"abc\rX, long\r\x1b[Kshort": "short",
    b"abc\rX": "Xbc",
    b"ab\x1b[1Kc\x1b[2Kd": "   d",
    b"one: 1%\ntwo: 1%\n\x1b[2A\x1b[Kone: 9%\r\x1b[1Btwo: 8%\n": "one: 9%\ntwo: 8%\n",
    b"\x1b[9Aa\x1b[5Gb\x1b[2Cc\x1b[3Dd": "a   bd c",
    b"kept\n\x1b[H\x1b[2Jnew": "kept\nnew",
    b"\x1b[?25l\x1b[1;1Hx\x1b[?1049h\x1b[38;2;1;2;3my\x1b=": "xy",
    b"\r 10%|#  |\r 50%|## |\r100%|###|\ndone\r\n": "100%|###|\ndone\n",
}


def test_bytes_are_shown_as_on_a_terminal_with_head_and_tail() -> None:
    assert {data: captured(data).text() for data in SHOWN} == SHOWN
    text = captured(b"0123456789" * 10, head=4, tail=3).text()
    assert text == "0123\n[… 93 bytes left out …]\n789"
    text = captured("é".encode() * 10, head=2, tail=3).text()
    assert text == "é\n[… 15 bytes left out …]\né", "no partial character"


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


@pytest.mark.sandboxes
async def test_output_and_exit_state(python: PythonExecute, subtests: pytest.Subtests) -> None:
    for name, (code, expected) in ENDINGS.items():
        with subtests.test(name=name, code=code):
            observation = await python.observe(code=code)
            assert observation.text == expected, name
            assert observation.is_error == ("[exit code 0" not in expected), name


@pytest.mark.sandboxes
async def test_output_before_an_error_and_its_line_are_shown(python: PythonExecute) -> None:
    code = "print('before')\ndef f():\n    return 1 / 0\nf()"
    output = (await python.observe(code=code)).text
    name = output.split('"')[1]
    assert output.startswith("before\nTraceback (most recent call last):\n")
    assert f'File "{name}", line 3, in f\n    return 1 / 0\n' in output
    assert output.endswith("ZeroDivisionError: division by zero\n[exit code 1]")
    assert (python.session.workspace.root / name).read_text().startswith("print('before')")
    assert str(python.session.workspace.root) not in output


@pytest.mark.sandboxes
async def test_it_works_in_the_workspace_and_imports(python: PythonExecute, root: Path) -> None:
    (root / "mine.py").write_text("def f(): return 'mine'\n")
    code = (
        "import os, mine, subprocess, sys\n"
        "print(mine.f(), os.listdir('.').count('mine.py'))\n"
        "os.chdir('/')\n"
        "subprocess.run([sys.executable, '-c', 'import mine; print(mine.f())'])\n"
    )
    assert (await python.observe(code=code)).text == "mine 1\nmine\n[exit code 0]"


@pytest.mark.sandboxes
async def test_a_timeout_keeps_the_output_and_ends_all(python: PythonExecute, root: Path) -> None:
    code = (
        "import subprocess, time\n"
        "jobs = [subprocess.Popen(['sleep', '600'], start_new_session=s) for s in (0, 1)]\n"
        "open('pids', 'w').write(' '.join(str(job.pid) for job in jobs))\n"
        "print('before')\n"
        "time.sleep(600)\n"
    )
    observation = await python.observe(code=code, timeout=3)
    assert observation.is_error
    assert observation.text.startswith("before\n[stopped: timed out after 3 s")
    pids = (root / "pids").read_text().split()
    assert [lives(pid) for pid in pids] == [False, False]
