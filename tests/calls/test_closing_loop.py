"""An event loop that is closed while a program starts closes anyway."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.child import ROOT

STARTS = {
    "the shell": "BashProcess.launch(folder, "
    "Sandbox('none', SandboxSettings(kind='none'), folder), writes_git=False)",
    "the parser of pages": "parse('html', 'http://a/', b'<p>Tea')",
}
# The loop closes this many iterations after the program's process was created: until asyncio had
# connected the pipes of a process, `close` never returned.
CLOSE = """
import asyncio, sys
from pathlib import Path
from manus.config.safety_settings import SandboxSettings
from manus.sandbox.sandbox import Sandbox
from manus.tools.shell import BashProcess
from manus.tools.web.reader import parse

folder = Path()
started = None
sys.addaudithook(lambda event, _: event == "subprocess.Popen" and started.set())

async def leave(turns):
    global started
    started = asyncio.Event()
    task = asyncio.create_task(START)
    await started.wait()
    for _ in range(turns):
        await asyncio.sleep(0)
    return task

for turns in range(5):
    asyncio.run(leave(turns))
    print("closed", turns, flush=True)
"""


@pytest.mark.parametrize("start", STARTS)
def test_a_loop_closes_while_a_program_starts(tmp_path: Path, start: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", CLOSE.replace("START", STARTS[start])],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert process.stdout.splitlines() == [f"closed {turns}" for turns in range(5)], process.stderr
