"""`python_execute`: Python code in a separate process."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Observation
from manus.calls.session_sandbox import get_sandbox
from manus.prompts.sources import COMMAND
from manus.sandbox.environment.tools import find_user_tools
from manus.sandbox.interpreter import get_own_python
from manus.sandbox.process import ProcessResult, exit_state, run
from manus.state.errors import ToolError, ToolUnavailableError
from manus.workspace.safe_open import write_private
from manus.workspace.workspace import PRIVATE, WORKSPACE, Workspace

PYTHON = "python_execute"
OWN_PYTHON = "own_python"
"""An entry in the `extras` of a profile: its code needs the packages that come with manus."""
_LONGEST = 3600.0
_FOLDER = f"{PRIVATE}/python"

_STOPPED = (
    "[stopped: timed out after {seconds:g} s; everything that it had started was killed. Make it "
    "faster, do less at a time, or set a larger `timeout`]"
)


class PythonExecuteArgs(Arguments):
    """Arguments of `python_execute`."""

    code: str = Field(description="Print what you want to see")
    timeout: float = Field(
        60.0,
        gt=0,
        le=_LONGEST,
        description="Seconds until the code is stopped",
    )


class PythonExecute(AgentTool):
    """Python in a separate process in the workspace."""

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
    async def observe(self, **arguments: Any) -> Observation:
        request = PythonExecuteArgs.model_construct(**arguments)
        if not request.code.strip():
            raise ToolError("`code` is empty; give the Python code to execute.")
        workspace = self.session.workspace
        code = request.code.encode("utf-8", "surrogatepass")  # Python reports what it cannot decode
        script = await asyncio.to_thread(_write_code, code, workspace)
        python, is_own = await asyncio.to_thread(self._choose_python)
        sandbox = await get_sandbox(self.session)
        mark = sandbox.mark
        async with sandbox.programs.looking() as notes:
            finished = await run(
                [python, str(script)],
                workspace=workspace,
                seconds=request.timeout,
                extra={"PYTHONPATH": str(workspace.root)},
                sandbox=sandbox,
            )
        # Tracebacks name the file relative to the workspace, so they are the same on every machine.
        output = finished.output.replace(str(script), f"{_FOLDER}/{script.name}")
        text = _describe(output, finished, request.timeout)
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
        root = self.session.workspace.root
        if not self.session.settings.profile.extras.get(OWN_PYTHON):
            python = find_user_tools(root, os.environ).python
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


def _describe(output: str, finished: ProcessResult, seconds: float) -> str:
    """Describe the output of an execution, and how it ended."""
    parts = [output.removesuffix("\n")] if output else []
    if finished.returncode is None:
        parts.append(_STOPPED.format(seconds=seconds))
    else:
        silent = "" if output else ", nothing was printed"
        parts.append(f"[{exit_state(finished.returncode)}{silent}]")
    return "\n".join(parts)
