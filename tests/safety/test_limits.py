"""Programs that take too much of the machine are ended, and the model is told why."""

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
    code = (
        "import os, time\n"
        "for _ in range(4):\n"
        "    if not os.fork():\n"
        "        break\n"
        "kept = bytearray(80_000_000)\n"
        "time.sleep(60)"
    )
    assert "memory" in (await PythonExecute(session=session).observe(code=code)).text


async def test_processes(session: Session) -> None:
    bash = Bash(session=session)
    said = (await bash.observe(command="for i in $(seq 60); do sleep 60 & done; wait")).text
    assert "sandbox.processes" in said
    assert "a" in (await bash.observe(command="echo a")).text


async def test_a_file(session: Session) -> None:
    for tool, given in (
        (Bash(session=session), {"command": "head -c 2000000 /dev/zero > big; ls -l big"}),
        (PythonExecute(session=session), {"code": "open('big', 'wb').write(bytes(2_000_000))"}),
    ):
        said = (await tool.observe(**given)).text
        assert "too large" in said.lower() or "limit exceeded" in said, said
    assert (session.workspace.root / "big").stat().st_size < 1_000_001
