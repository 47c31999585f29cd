"""`data_visualization`: a chart from a data file."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import stat
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from platformdirs import user_cache_dir
from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Image, Observation
from manus.calls.session_sandbox import get_sandbox
from manus.prompts.data import CHART
from manus.sandbox.interpreter import get_own_python
from manus.sandbox.process import ProcessResult, exit_state, run
from manus.sandbox.sandbox import Sandbox
from manus.state.errors import ToolError, ToolUnavailableError
from manus.tools.chart.spec import Chart
from manus.workspace.safe_open import look_at, open_file, write_private
from manus.workspace.workspace import WORKSPACE, Workspace

MAX_BYTES = 200 * 2**20
"""Maximum size of a data file, in bytes."""
_TIMEOUT = 180.0
_COLORS = "colors.json"
"""The workspace's record that maps series names to colors."""
_PACKAGE = Path(__file__).resolve().parents[1]
# Load the package from its own folder: under Landlock Python cannot list the parent folder, which
# may contain anything, and without a listing the import system finds no modules in it.
_START_CODE = """
import importlib.util, runpy, sys
spec = importlib.util.spec_from_file_location("manus", sys.argv.pop(1))
sys.modules["manus"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
runpy.run_module("manus.tools.chart.worker", run_name="__main__")
"""
INSTALL = "install them with `make setup EXTRAS=data`, or with pip by their own names"


class ChartArgs(Chart, Arguments):
    """The chart specification in the arguments of a call."""


class DataVisualizationArgs(Arguments):
    """Arguments of `data_visualization`."""

    data: str = Field(description="Path of the data file in the workspace")
    chart: ChartArgs = Field(description="The chart")
    output: str = Field("", description="Path of the PNG (default charts/NAME-TYPE.png)")
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
        request.chart.require_columns()
        workspace = self.session.workspace
        job = await asyncio.to_thread(_build_job, request, workspace)
        sandbox = await get_sandbox(self.session)
        if not await asyncio.to_thread(Path(job["bundle"]).exists):
            await _run_worker(
                {"bundle": job["bundle"]}, workspace, None
            )  # outside the sandbox: no input of the model
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


async def _run_worker(
    job: dict[str, Any], workspace: Workspace, sandbox: Sandbox | None
) -> ProcessResult:
    python = await asyncio.to_thread(get_own_python)
    return await run(
        [python, "-P", "-c", _START_CODE, str(_PACKAGE / "__init__.py"), json.dumps(job)],
        workspace=workspace,
        seconds=_TIMEOUT,
        sandbox=sandbox,
        read=(_PACKAGE, Path(job["bundle"])),
    )


def _build_job(request: DataVisualizationArgs, workspace: Workspace) -> dict[str, Any]:
    """Build the job of the worker process. Blocking."""
    data = workspace.readable(request.data)
    path_text = workspace.show(data)
    _check_file(data, path_text)
    requested = request.output or f"charts/{data.stem}-{request.chart.type}.png"
    stem = requested[:-4] if requested.lower().endswith(".png") else requested.removesuffix(".html")
    picture = workspace.writable(f"{stem}.png")
    page = workspace.writable(f"{stem}.html")
    if data in (picture, page):
        raise ToolError(f"`output` is the data file {path_text} itself; give another path.")
    return {
        "data": str(data),
        "shown": path_text,
        "sheet": request.sheet,
        "chart": request.chart.model_dump(),
        "picture": str(picture),
        "output": workspace.show(picture),
        "bundle": str(_bundle_path()),
        "colors": _load_colors(workspace),
    }


def _load_colors(workspace: Workspace) -> dict[str, int]:
    """Return the recorded colors; empty before the first chart. Blocking."""
    with contextlib.suppress(OSError, ValueError), open_file(workspace.records / _COLORS) as file:
        colors: dict[str, int] = json.load(file)
        return colors
    return {}


def _check_file(data: Path, path_text: str) -> None:
    status = look_at(data)
    if status is None or not stat.S_ISREG(status.st_mode):
        reason = "it does not exist" if status is None else "it is not a regular file"
        raise ToolError(f"Cannot read {path_text}: {reason}.")
    if status.st_size > MAX_BYTES:
        limit = f"{path_text} has {status.st_size:,} bytes, more than the limit of {MAX_BYTES:,}"
        raise ToolError(f"{limit}; reduce it first with `python_execute`.")


def _bundle_path() -> Path:
    """Return the cache path of the JavaScript bundle of the pages."""
    try:
        return Path(user_cache_dir("manus"), f"vega-{version('vl-convert-python')}.js")
    except PackageNotFoundError as error:
        raise _missing_package_error(error.name) from None


def _missing_package_error(package: str) -> ToolUnavailableError:
    return ToolUnavailableError(f"Charts need packages that are missing ({package}); {INSTALL}.")


def _build_observation(
    request: DataVisualizationArgs,
    job: dict[str, Any],
    result: dict[str, Any],
    workspace: Workspace,
) -> Observation:
    """Build the observation from the result of the worker process. Blocking."""
    if "missing" in result:
        raise _missing_package_error(result["missing"])
    if "error" in result:
        raise ToolError(result["error"])
    with contextlib.suppress(OSError):  # without the record the next chart assigns colors again
        write_private(workspace.records / _COLORS, json.dumps(result["colors"]).encode())
    path_text = job["output"]
    lines = [
        f"A {request.chart.type} chart of {result['rows']:,} rows: {path_text}, and "
        f"{path_text.removesuffix('.png')}.html, which works offline."
        f"{workspace.describe_name(request.data, Path(job['data']))}",
        *result["notes"],
    ]
    with open_file(Path(job["picture"])) as picture:
        image = base64.b64encode(picture.read()).decode("ascii")
    return Observation("\n".join(lines), (Image(image),))
