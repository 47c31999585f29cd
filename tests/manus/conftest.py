import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from manus.cli import execute
from tests.manus.program import Program, Result
from tests.server.server import ScriptedServer


@pytest.fixture(scope="package", autouse=True)
def _interrupts_are_heard() -> None:
    """Have Ctrl-C reach what the tests start, also if they run in the background of a shell.

    A shell has it ignored there, every process inherits that, and the program respects it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Program]:
    """The program with no model configured."""
    program = Program(tmp_path, {})
    yield program
    program.end_leftovers()


@pytest.fixture
def manus(tmp_path: Path, server: ScriptedServer) -> Iterator[Program]:
    """The program with the scripted server as its model."""
    model = {"MANUS_BASE_URL": server.base_url, "MANUS_MODEL": "scripted"}
    program = Program(tmp_path, model)
    yield program
    program.end_leftovers()


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    """The command line in this process, for what it says before anything begins."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*arguments: str) -> Result:
        code = execute(list(arguments))
        said = capsys.readouterr()
        return Result(code, said.out, said.err)

    return run
