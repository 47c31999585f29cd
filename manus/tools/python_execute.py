"""`python_execute`: Python code in the workspace, in a process that may keep its variables."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from langchain_core.runnables.config import ensure_config
from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Observation
from manus.calls.session import get_sandbox
from manus.prompts.sources import COMMAND
from manus.sandbox.environment.tools import find_user_tools
from manus.sandbox.interpreter import get_own_python
from manus.sandbox.process import ProcessResult, exit_state, run
from manus.sandbox.sandbox import Sandbox
from manus.state.errors import ToolError, ToolUnavailableError
from manus.tools.interpreter import Ended, Interpreter, TextRunner
from manus.workspace.safe_open import open_file, write_private
from manus.workspace.workspace import PRIVATE, WORKSPACE, Workspace

INTERRUPTED = 130
"""The status of a cell that was interrupted at its timeout; the session goes on."""
_DRIVER = Path(__file__).with_name("python_driver.py")
_MAX_RECORD = 10_000
"""Maximum size of the file with the names, in bytes."""
_GRACE_SECONDS = 3.0
"""Seconds that a cell has to end after it was interrupted."""


PYTHON = "python_execute"
OWN_PYTHON = "own_python"
"""An entry in the `extras` of a profile: its code needs the packages that come with manus."""
_LONGEST = 3600.0
_FOLDER = f"{PRIVATE}/python"
_SESSION = (
    "Run Python code in the workspace, whose modules it can import. Variables, functions and "
    "imports stay for the later calls of this run, so load data once. Returns what the code "
    "prints, the value of an expression in its last line, and how it ended. stdin is empty."
)
_INTERRUPTED = (
    "[stopped: timed out after {seconds:g} s; the variables are kept. Make it faster, do less at a "
    "time, or set a larger `timeout`]"
)
_LOST = "[fresh Python: what was in it before is gone ({names})]"
_ENDED = "[{how}; Python ended, and the next call gets a fresh one{lost}]"
_STOPPED = (
    "[stopped: timed out after {seconds:g} s; everything that it had started was killed. Make it "
    "faster, do less at a time, or set a larger `timeout`]"
)


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


class PythonExecuteArgs(Arguments):
    """Arguments of `python_execute`."""

    code: str = Field(description="Print what you want to see")
    timeout: float = Field(
        60.0,
        gt=0,
        le=_LONGEST,
        description="Seconds until the code is stopped",
    )


class PythonSessionArgs(PythonExecuteArgs):
    """Arguments of `python_execute` in a profile whose Python keeps its variables."""

    restart: bool = Field(False, description="Start a fresh Python first")


class PythonExecute(AgentTool):
    """Python in the workspace: a process for each call, or one for the whole run.

    One process keeps its variables. It is the Python of manus, for a profile that needs its
    packages, if IPython is installed.
    """

    name: str = PYTHON
    description: str = (
        "Run Python code in a fresh process in the workspace, whose modules it can import. "
        "Returns only what the code prints, and how it ended. Variables are lost after each call, "
        "and processes that the code starts end with it. stdin is empty."
    )
    args_schema: type[BaseModel] = PythonExecuteArgs
    uses: ClassVar[str] = WORKSPACE  # it may change any file
    starts_programs: ClassVar[bool] = True
    time_limit: ClassVar[float] = _LONGEST + 120

    @override
    def model_post_init(self, context: Any) -> None:
        if self._is_own and has_ipython():
            self.args_schema = PythonSessionArgs
            self.description = _SESSION
        super().model_post_init(context)

    @property
    def _is_own(self) -> bool:
        """Return whether the profile's code needs the packages that come with manus."""
        return bool(self.session.settings.profile.extras.get(OWN_PYTHON))

    @override
    async def observe(self, **arguments: Any) -> Observation:
        request = PythonSessionArgs.model_construct(**arguments)
        if not (request.code.strip() or request.restart):
            raise ToolError("`code` is empty; give the Python code to execute.")
        code = request.code.encode("utf-8", "surrogatepass")  # Python reports what it cannot decode
        if self.args_schema is PythonSessionArgs:
            return await self._run_cell(code, request)
        return await self._run_alone(code, request.timeout)

    async def _run_cell(self, code: bytes, request: PythonSessionArgs) -> Observation:
        """Run the code in the Python of the run."""
        session = await self.session.obtain("python", self._open_session)
        if request.restart:
            await session.restart()
        sandbox = await get_sandbox(self.session)
        mark = sandbox.mark
        async with sandbox.programs.looking() as notes:
            cell = await session.run_cell(code, request.timeout)
        output = cell.ended.output
        text = _describe_cell(cell, request.timeout)
        text += sandbox.describe_failures(mark, output)
        text += "".join(notes)
        status = None if cell.ended.status == INTERRUPTED else cell.ended.status
        return Observation(
            text,
            is_error=status != 0,
            is_exit_code=status is not None,
            source=COMMAND,
            output=output,
        )

    async def _open_session(self) -> PythonSession:
        location = ensure_config().get("configurable", {})
        # the namespace without that of the call: each step of a plan has a Python of its own
        namespace = location.get("checkpoint_ns", "").rpartition("|")[0]
        name = f"{location.get('thread_id', '')} {namespace}"
        return PythonSession(self.session.workspace, await get_sandbox(self.session), name)

    async def _run_alone(self, code: bytes, seconds: float) -> Observation:
        """Run the code in a process of its own."""
        workspace = self.session.workspace
        script = await asyncio.to_thread(_write_code, code, workspace)
        python, is_own = await asyncio.to_thread(self._choose_python)
        sandbox = await get_sandbox(self.session)
        mark = sandbox.mark
        async with sandbox.programs.looking() as notes:
            finished = await run(
                [python, str(script)],
                workspace=workspace,
                seconds=seconds,
                extra={"PYTHONPATH": str(workspace.root)},
                sandbox=sandbox,
            )
        # Tracebacks name the file relative to the workspace, so they are the same on every machine.
        output = finished.output.replace(str(script), f"{_FOLDER}/{script.name}")
        text = _describe(output, finished, seconds)
        text += _interpreter_note(workspace.show(Path(python)), output, is_own=is_own)
        text += sandbox.describe_failures(mark, finished.output)
        text += "".join(notes)
        return Observation(
            text,
            is_error=finished.returncode != 0,
            is_exit_code=finished.returncode is not None,
            source=COMMAND,
            output=output,
        )

    def _choose_python(self) -> tuple[str, bool]:
        """Return the interpreter, and whether it is manus's own. Blocking."""
        if not self._is_own:
            python = find_user_tools(self.session.workspace.root, os.environ).python
            if python is not None:
                return str(python), False
        return get_own_python(), True


def _interpreter_note(python: str, output: str, *, is_own: bool) -> str:
    """Return a line that names the interpreter; for manus's own, only where that may help."""
    if not is_own:
        return f"\n[Python: {python}]"
    return "\n[Python: manus's own]" if "ModuleNotFoundError: " in output else ""


def _write_code(code: bytes, workspace: Workspace) -> Path:
    """Write the code to a file named by its hash. Blocking.

    It is a file so that tracebacks show the line and `multiprocessing` finds the main module. It is
    written atomically, since another session may be executing the same code.
    """
    path = workspace.root / _FOLDER / f"{hashlib.sha256(code).hexdigest()[:12]}.py"
    try:
        write_private(path, code)
    except OSError as error:
        raise ToolUnavailableError(
            f"Cannot write the code to {_FOLDER} in the workspace ({error.strerror}); "
            "free space there, or use another tool."
        ) from None
    return path


def _describe_cell(cell: CellEnd, seconds: float) -> str:
    """Describe the output of a cell, how it ended, and what is gone."""
    ended = cell.ended
    parts = [_LOST.format(names=", ".join(cell.lost_before))] if cell.lost_before else []
    if ended.output:
        parts.append(ended.output.rstrip("\n"))
    lost = f"; gone: {', '.join(cell.lost_after)}" if cell.lost_after else ""
    if ended.status is None:
        how = f"stopped: timed out after {seconds:g} s and did not react"
        parts.append(_ENDED.format(how=how, lost=lost))
    elif ended.exited:
        parts.append(_ENDED.format(how=exit_state(ended.status), lost=lost))
    elif ended.status == INTERRUPTED:
        parts.append(_INTERRUPTED.format(seconds=seconds))
    else:
        silent = "" if ended.output else ", nothing was printed"
        parts.append(f"[{exit_state(ended.status)}{silent}]")
    return "\n".join(parts)


def _describe(output: str, finished: ProcessResult, seconds: float) -> str:
    """Describe the output of an execution, and how it ended."""
    parts = [output.removesuffix("\n")] if output else []
    if finished.returncode is None:
        parts.append(_STOPPED.format(seconds=seconds))
    else:
        silent = "" if output else ", nothing was printed"
        parts.append(f"[{exit_state(finished.returncode)}{silent}]")
    return "\n".join(parts)
