"""Python that keeps its variables between the calls of a run."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from typing_extensions import override

from manus.sandbox.interpreter import get_own_python
from manus.sandbox.sandbox import Sandbox
from manus.tools.shell.interpreter import Ended, Interpreter, TextRunner
from manus.workspace.safe_open import open_file, write_private
from manus.workspace.workspace import PRIVATE, Workspace

INTERRUPTED = 130
"""The status of a cell that was interrupted at its timeout; the session goes on."""
_DRIVER = Path(__file__).with_name("python_driver.py")
_MAX_RECORD = 10_000
"""Maximum size of the file with the names, in bytes."""
_GRACE_SECONDS = 3.0
"""Seconds that a cell has to end after it was interrupted."""


def has_ipython() -> bool:
    """Return whether a session can be started."""
    return find_spec("IPython") is not None


@dataclass(frozen=True, slots=True)
class CellEnd:
    """How a cell ended, and which variables are gone."""

    ended: Ended
    lost_before: tuple[str, ...]
    """Variables of earlier cells that this one could not see."""
    lost_after: tuple[str, ...]
    """Variables that are gone because this cell ended Python."""


def _parse_names(text: str) -> tuple[str, ...]:
    """Return the names in a JSON list; none if code of the session has written something else."""
    try:
        names = json.loads(text)
    except ValueError:
        return ()
    return tuple(map(str, names)) if isinstance(names, list) else ()


class PythonProcess(Interpreter):
    """One Python process, in which IPython executes the cells."""

    names: tuple[str, ...] = ()
    """The variables after the last cell."""

    @classmethod
    async def launch(cls, directory: Path, sandbox: Sandbox) -> PythonProcess:
        """Start Python in a directory."""
        python = await asyncio.to_thread(get_own_python)
        argv = [python, "-P", str(_DRIVER), "{status}"]
        extra = {"PYTHONPATH": str(directory)}
        async with cls.start(argv, directory, sandbox, extra=extra, read=(_DRIVER,)) as started:
            return cls(sandbox, *started)

    @override
    def _request(self, text: Path, output: Path) -> str:
        return json.dumps([self._number, str(text), str(output)]) + "\n"

    @override
    def _note_report(self, rest: str) -> None:
        self.names = _parse_names(rest)

    @override
    async def execute(self, text: Path, output: Path, seconds: float) -> int | None:
        status = await super().execute(text, output, seconds)
        if status is None:
            self._send(f"[{self._number}]\n")
            ended = await self._wait(_GRACE_SECONDS)
            status = None if ended is None else INTERRUPTED
        return status


class PythonSession(TextRunner[PythonProcess]):
    """The Python of one run.

    The names of its variables are also kept in a file, so that the next run on the thread can say
    which are gone.
    """

    def __init__(self, workspace: Workspace, sandbox: Sandbox, agent: str) -> None:
        """Create a session; `agent` identifies the agent in all runs of its thread."""
        super().__init__(workspace, sandbox)
        name = hashlib.sha256(agent.encode()).hexdigest()[:16]
        self._record = workspace.root / PRIVATE / "python" / f"{name}.names"
        self._names: tuple[str, ...] = ()
        self._lost: tuple[str, ...] = ()

    async def run_cell(self, code: bytes, seconds: float) -> CellEnd:
        """Run a cell; at the timeout it is interrupted, and killed if it does not react."""
        ended = await self.run(code, seconds)
        before, self._lost = self._lost, ()
        after: tuple[str, ...] = ()
        if ended.exited or ended.status is None:
            after, self._names = self._names, ()
            await asyncio.to_thread(self._write_record)
        return CellEnd(ended, before, after)

    @override
    async def restart(self) -> None:
        """Kill Python; the next cell runs in a fresh one, and knows that it does."""
        await super().restart()
        self._names = ()
        await asyncio.to_thread(self._write_record)

    @override
    async def _launch(self) -> PythonProcess:
        self._lost = self._names or await asyncio.to_thread(self._read_record)
        self._names = ()
        return await PythonProcess.launch(self._workspace.root, self._sandbox)

    @override
    async def _note_end(self, interpreter: PythonProcess) -> None:
        if interpreter.names != self._names:
            self._names = interpreter.names
            await asyncio.to_thread(self._write_record)

    def _read_record(self) -> tuple[str, ...]:
        try:
            with open_file(self._record) as file:
                return _parse_names(file.read(_MAX_RECORD).decode("utf-8", "replace"))
        except OSError:
            return ()

    def _write_record(self) -> None:
        with contextlib.suppress(OSError):  # without it, the next run does not name them
            write_private(self._record, json.dumps(self._names).encode())
