"""`data_visualization`: a chart from a data file."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import stat
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Image, Observation
from manus.calls.session import get_sandbox
from manus.prompts.data import CHART
from manus.sandbox.interpreter import get_own_python
from manus.sandbox.process import ProcessResult, exit_state, run
from manus.sandbox.sandbox import Sandbox
from manus.state.errors import ToolError, ToolUnavailableError
from manus.workspace.safe_open import look_at, open_file
from manus.workspace.workspace import WORKSPACE, Workspace

MAX_BYTES = 200 * 2**20
"""Maximum size of a data file, in bytes."""
_TIMEOUT = 180.0
_PACKAGE = Path(__file__).resolve().parents[1]
# Load the package from its own folder: under Landlock Python cannot list the parent folder, which
# may contain anything, and without a listing the import system finds no modules in it.
_START_CODE = """
import importlib.util, runpy, sys
spec = importlib.util.spec_from_file_location("manus", sys.argv.pop(1))
sys.modules["manus"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
runpy.run_module("manus.tools.chart_worker", run_name="__main__")
"""
_PACKAGES = ("altair", "pandas", "vl_convert")
INSTALL = "install them with `make setup EXTRAS=data`, or with pip by their own names"


class DataVisualizationArgs(Arguments):
    """Arguments of `data_visualization`."""

    data: str = Field(description="Path of the data file in the workspace")
    spec: dict[str, Any] = Field(description="Vega-Lite specification without `data`")
    output: str = Field("", description="Path of the PNG (default: a new file in charts/)")
    sheet: str | None = Field(None, description="Only Excel: name of the sheet (default the first)")


class DataVisualization(AgentTool):
    """The chart tool, which draws in a worker process."""

    name: str = "data_visualization"
    description: str = CHART
    args_schema: type[BaseModel] = DataVisualizationArgs
    uses: ClassVar[str] = WORKSPACE
    time_limit: ClassVar[float] = _TIMEOUT + 60

    @override
    async def observe(self, **arguments: Any) -> Observation:
        request = DataVisualizationArgs.model_validate(arguments)
        workspace = self.session.workspace
        if missing := [name for name in _PACKAGES if find_spec(name) is None]:
            names = ", ".join(missing)
            raise ToolUnavailableError(
                f"Charts need packages that are missing ({names}); {INSTALL}."
            )
        job = await asyncio.to_thread(_build_job, request, workspace)
        sandbox = await get_sandbox(self.session)
        mark = sandbox.mark
        finished = await _run_worker(job, workspace, sandbox)
        if finished.returncode is None:
            raise ToolError(
                f"Drawing the chart timed out after {_TIMEOUT:g} s; use fewer rows or columns."
            )
        last = finished.output.strip().rpartition("\n")[2]
        if finished.returncode != 0:
            state = exit_state(finished.returncode)
            problem = f"Cannot draw the chart ({state}): {last[:300]}"
            raise ToolError(problem + sandbox.describe_failures(mark, last))
        return await asyncio.to_thread(
            _build_observation, request, job, json.loads(last), workspace
        )


async def _run_worker(job: dict[str, Any], workspace: Workspace, sandbox: Sandbox) -> ProcessResult:
    python = await asyncio.to_thread(get_own_python)
    return await run(
        [python, "-P", "-c", _START_CODE, str(_PACKAGE / "__init__.py"), json.dumps(job)],
        workspace=workspace,
        seconds=_TIMEOUT,
        sandbox=sandbox,
        read=(_PACKAGE,),
    )


def _build_job(request: DataVisualizationArgs, workspace: Workspace) -> dict[str, Any]:
    """Build the job of the worker process. Blocking."""
    data = workspace.readable(request.data)
    label = workspace.show(data)
    _check_file(data, label)
    requested = request.output or _find_free_name(f"charts/{data.stem}", workspace)
    stem = requested[:-4] if requested.lower().endswith(".png") else requested.removesuffix(".html")
    picture = workspace.writable(f"{stem}.png")
    page = workspace.writable(f"{stem}.html")
    if data in (picture, page):
        raise ToolError(f"`output` is the data file {label} itself; give another path.")
    return {
        "data": str(data),
        "label": label,
        "sheet": request.sheet,
        "spec": request.spec,
        "picture": str(picture),
        "output": workspace.show(picture),
        "replaces": [workspace.show(path) for path in (picture, page) if look_at(path)],
    }


def _find_free_name(stem: str, workspace: Workspace) -> str:
    """Return a name that no chart has yet, so that none is replaced unasked. Blocking."""
    names = (f"{stem}-{number}.png" for number in itertools.count(1))
    return next(name for name in names if look_at(workspace.writable(name)) is None)


def _check_file(data: Path, path_text: str) -> None:
    status = look_at(data)
    if status is None or not stat.S_ISREG(status.st_mode):
        reason = "it does not exist" if status is None else "it is not a regular file"
        raise ToolError(f"Cannot read {path_text}: {reason}.")
    if status.st_size > MAX_BYTES:
        limit = f"{path_text} has {status.st_size:,} bytes, more than the limit of {MAX_BYTES:,}"
        raise ToolError(f"{limit}; reduce it first with `python_execute`.")


def _build_observation(
    request: DataVisualizationArgs,
    job: dict[str, Any],
    result: dict[str, Any],
    workspace: Workspace,
) -> Observation:
    """Build the observation from the result of the worker process. Blocking."""
    if "error" in result:
        raise ToolError(result["error"])
    label = job["output"]
    lines = [
        f"A chart of {result['rows']:,} rows: {label}, and {label.removesuffix('.png')}.html, "
        f"which works offline.{workspace.describe_name(request.data, Path(job['data']))}",
        *result["notes"],
    ]
    if job["replaces"]:
        lines.append(f"It replaces the earlier {' and '.join(job['replaces'])}.")
    with open_file(Path(job["picture"])) as picture:
        image = base64.b64encode(picture.read()).decode("ascii")
    return Observation("\n".join(lines), (Image(image),))
