"""The overhead of the sandbox in milliseconds, the median of several runs.

python -m benchmarks.sandbox [--repeat 7]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from manus.calls.session import Session
from manus.config.run_settings import resolve_settings
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.sandbox.availability import probe_sandbox
from manus.state.errors import ToolUnavailableError
from manus.tools.bash import Bash
from manus.tools.python_execute import PythonExecute
from manus.workspace.workspace import Workspace

Kind = Literal["none", "landlock", "bubblewrap"]

KINDS: tuple[Kind, ...] = ("none", "landlock", "bubblewrap")
ROWS = ("first command of the shell, once a run", "a later command", "`python_execute`")


async def run(kind: Kind, folder: Path) -> list[float]:
    """Measure the three operations of one run."""
    workspace = Workspace(folder)
    workspace.prepare()
    settings = resolve_settings(Settings(sandbox=SandboxSettings(kind=kind)))
    session = Session(workspace, settings=settings)
    bash, python = Bash(session=session), PythonExecute(session=session)
    try:
        first = await measure_time(lambda: bash.observe(command="true", timeout=60.0))
        later = await measure_time(lambda: bash.observe(command="true", timeout=60.0))
        return [first, later, await measure_time(lambda: python.observe(code="1", timeout=60.0))]
    finally:
        await session.close()


async def measure_time(call: Callable[[], Awaitable[object]]) -> float:
    """Return the duration of a call in milliseconds."""
    begin = time.perf_counter()
    await call()
    return (time.perf_counter() - begin) * 1000


async def measure(kind: Kind, repeat: int) -> list[float] | None:
    """Return the medians for a kind of sandbox, or None if it does not work on this machine."""
    try:
        probe_sandbox(SandboxSettings(kind=kind))
    except ToolUnavailableError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        runs = [await run(kind, Path(folder)) for _ in range(repeat + 1)][1:]  # the first is cold
    return [statistics.median(column) for column in zip(*runs, strict=True)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=7, help="runs of each kind (default 7)")
    repeat = parser.parse_args().repeat
    results = {kind: asyncio.run(measure(kind, repeat)) for kind in KINDS}
    print(f"{'milliseconds':40}" + "".join(f"{kind:>12}" for kind in KINDS))
    for row, name in enumerate(ROWS):
        cells = (f"{column[row]:>12.1f}" if column else f"{'–':>12}" for column in results.values())
        print(f"{name:40}" + "".join(cells))


if __name__ == "__main__":
    main()
