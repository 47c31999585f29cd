"""Programs that take too much of the machine are ended, and the model is told why."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manus.state.safety_settings import SandboxSettings
from manus.state.settings import Settings
from manus.tools.bash import Bash
from manus.tools.python_execute import PythonExecute
from manus.tools.session import Session
from tests.helpers.sessions import session_in


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    limits = SandboxSettings(memory_megabytes=200, processes=30, file_megabytes=1)
    session = session_in(tmp_path, settings=Settings(sandbox=limits))
    yield session
    await session.close()


async def test_memory_of_all_together(session: Session) -> None:
    code = "import os, time\nos.fork(), os.fork()\nkept = bytearray(80_000_000)\ntime.sleep(60)"
    assert "memory" in (await PythonExecute(session=session).observe(code=code)).text


async def test_processes(session: Session) -> None:
    bash = Bash(session=session)
    said = (await bash.observe(command="for i in $(seq 60); do sleep 60 & done; wait")).text
    assert "sandbox.processes" in said
    assert "a" in (await bash.observe(command="echo a")).text


async def test_a_file(session: Session) -> None:
    shell = Bash(session=session).observe(command="head -c 2000000 /dev/zero > big; ls -l big")
    python = PythonExecute(session=session).observe(code="open('big', 'wb').write(bytes(2000000))")
    for said in (await shell, await python):
        assert re.search("(?i)too large|limit exceeded", said.text)
    assert (session.workspace.root / "big").stat().st_size < 1_000_001
