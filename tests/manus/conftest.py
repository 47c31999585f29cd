from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from manus.cli import execute
from tests.manus.program import Program, Result
from tests.server.server import ScriptedServer


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Program]:
    """The program with no model configured."""
    program = Program(tmp_path, {})
    yield program
    program.end_leftovers()


@pytest.fixture
def manus(bare: Program, server: ScriptedServer) -> Program:
    """The program with the scripted server as its model."""
    bare.environment |= {"MANUS_BASE_URL": server.base_url, "MANUS_MODEL": "scripted"}
    return bare


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
