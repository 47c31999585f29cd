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

from manus.execution.base import AgentTool, Arguments
from manus.execution.process import Finished, exit_state, run
from manus.execution.result import Image, Observation
from manus.execution.safe_open import look_at, open_file, write_private
from manus.execution.sandbox.interpreter import own_python
from manus.execution.sandbox.sandbox import Sandbox, sandbox_of
from manus.execution.workspace import WORKSPACE, Workspace
from manus.prompts.data import CHART
from manus.state.errors import ToolError, ToolUnavailableError
from manus.tools.chart.spec import Chart

MAX_BYTES = 200 * 2**20
"""Size of the largest data file, in bytes."""
_SECONDS = 180.0
_COLORS = "colors.json"
"""Which colour a name has in the charts of a workspace, in its records."""
_PACKAGE = Path(__file__).resolve().parents[1]
# Loads the package from its own folder: Landlock does not let Python list the folder around it,
# which may hold anything, and without a listing Python finds no module there.
_START = """
import importlib.util, runpy, sys
spec = importlib.util.spec_from_file_location("manus", sys.argv.pop(1))
sys.modules["manus"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
runpy.run_module("manus.tools.chart.worker", run_name="__main__")
"""
INSTALL = "install them with `make setup EXTRAS=data`, or with pip by their own names"


class ChartArgs(Chart, Arguments):
    """A chart, declared in a call."""


class DataVisualizationArgs(Arguments):
    """Arguments of `data_visualization`."""

    data: str = Field(description="Path of the data file in the workspace")
    chart: ChartArgs = Field(description="The chart")
    output: str = Field("", description="Path of the PNG (default charts/NAME-TYPE.png)")
    sheet: str | None = Field(None, description="Only Excel: name of the sheet (default the first)")


class DataVisualization(AgentTool):
    """Draws charts in a process of its own."""

    name: str = "data_visualization"
    description: str = CHART
    args_schema: type[BaseModel] = DataVisualizationArgs
    uses: ClassVar[str] = WORKSPACE
    time_limit: ClassVar[float] = _SECONDS + 60

    @override
    async def observe(self, **arguments: Any) -> Observation:
        wanted = DataVisualizationArgs.model_validate(arguments)
        wanted.chart.require_columns()
        workspace = self.session.workspace
        job = await asyncio.to_thread(_job, wanted, workspace)
        sandbox = await sandbox_of(self.session)
        if not await asyncio.to_thread(Path(job["bundle"]).exists):
            await _work({"bundle": job["bundle"]}, workspace, None)  # nothing of the model's
        mark = sandbox.mark
        finished = await _work(job, workspace, sandbox)
        if finished.returncode is None:
            raise ToolError(f"The chart was not done in {_SECONDS:g} s; use fewer rows or columns.")
        last = finished.output.strip().rpartition("\n")[2]
        if finished.returncode != 0:
            state = exit_state(finished.returncode)
            said = f"The chart could not be drawn ({state}): {last[:300]}"
            raise ToolError(said + sandbox.remarks(mark, last))
        return await asyncio.to_thread(_said, wanted, job, json.loads(last), workspace)


async def _work(job: dict[str, Any], workspace: Workspace, sandbox: Sandbox | None) -> Finished:
    python = await asyncio.to_thread(own_python)
    return await run(
        [python, "-P", "-c", _START, str(_PACKAGE / "__init__.py"), json.dumps(job)],
        workspace=workspace,
        seconds=_SECONDS,
        sandbox=sandbox,
        read=(_PACKAGE, Path(job["bundle"])),
    )


def _job(wanted: DataVisualizationArgs, workspace: Workspace) -> dict[str, Any]:
    """What the process is told. Blocking."""
    data = workspace.readable(wanted.data)
    shown = workspace.show(data)
    _check(data, shown)
    given = wanted.output or f"charts/{data.stem}-{wanted.chart.type}.png"
    stem = given[:-4] if given.lower().endswith(".png") else given.removesuffix(".html")
    picture = workspace.writable(f"{stem}.png")
    page = workspace.writable(f"{stem}.html")
    if data in (picture, page):
        raise ToolError(f"`output` is the data file {shown} itself; give another path.")
    return {
        "data": str(data),
        "shown": shown,
        "sheet": wanted.sheet,
        "chart": wanted.chart.model_dump(),
        "picture": str(picture),
        "output": workspace.show(picture),
        "bundle": str(_bundle()),
        "colors": _colors(workspace),
    }


def _colors(workspace: Workspace) -> dict[str, int]:
    """What is kept of them; nothing before the first chart."""
    with contextlib.suppress(OSError, ValueError), open_file(workspace.records / _COLORS) as kept:
        found: dict[str, int] = json.load(kept)
        return found
    return {}


def _check(data: Path, shown: str) -> None:
    about = look_at(data)
    if about is None or not stat.S_ISREG(about.st_mode):
        why = "there is no such file" if about is None else "it is no file"
        raise ToolError(f"{shown} cannot be read: {why}.")
    if about.st_size > MAX_BYTES:
        size = f"{shown} has {about.st_size:,} bytes, and {MAX_BYTES:,} is the most that is read"
        raise ToolError(f"{size}; reduce it first with `python_execute`.")


def _bundle() -> Path:
    """Where is kept what pages draw with."""
    try:
        return Path(user_cache_dir("manus"), f"vega-{version('vl-convert-python')}.js")
    except PackageNotFoundError as lacking:
        raise _unavailable(lacking.name) from None


def _unavailable(package: str) -> ToolUnavailableError:
    return ToolUnavailableError(f"Charts need packages that are missing ({package}); {INSTALL}.")


def _said(
    wanted: DataVisualizationArgs, job: dict[str, Any], result: dict[str, Any], workspace: Workspace
) -> Observation:
    """What the model is told of a result. Blocking."""
    if "missing" in result:
        raise _unavailable(result["missing"])
    if "error" in result:
        raise ToolError(result["error"])
    with contextlib.suppress(OSError):  # the next chart chooses colours anew
        write_private(workspace.records / _COLORS, json.dumps(result["colors"]).encode())
    shown = job["output"]
    lines = [
        f"A {wanted.chart.type} chart of {result['rows']:,} rows: {shown}, and "
        f"{shown.removesuffix('.png')}.html, which works offline.",
        *result["notes"],
    ]
    with open_file(Path(job["picture"])) as picture:
        drawn = base64.b64encode(picture.read()).decode("ascii")
    return Observation("\n".join(lines), (Image(drawn),))
