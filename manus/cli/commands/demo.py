"""`manus demo`: recorded runs with hand-written model turns and real tools; need no model."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from manus.cli.notes import print_note
from manus.runs.options import RunOptions

if TYPE_CHECKING:
    from manus.config.settings import Settings

_RECORDINGS = Path(__file__).parents[2] / "recordings"


@dataclass(frozen=True, slots=True)
class Demo:
    """A recorded run."""

    title: str
    request: str
    kind: str = "agent"
    modules: tuple[str, ...] = ()
    """Optional packages that its tools import."""
    uses_browser: bool = False


DEMOS = {
    "calculator": Demo(
        "write, test and try a small program",
        "create a simple Python calculator with add, subtract, multiply, divide, and test it",
    ),
    "rentals": Demo(
        "plan an analysis: check figures, draw a chart (extra `data`)",
        "Here are a bike shop's rentals for a year (invented figures). Chart them, and tell me "
        "each bike's best month, and how many of each I need in spring (March to May).\n\n"
        "month,city,cargo,mountain\n1,41,12,3\n2,44,15,4\n3,87,21,18\n4,132,30,44\n5,171,38,81\n"
        "6,188,41,117\n7,176,36,140\n8,169,35,151\n9,158,39,96\n10,119,33,52\n11,70,24,11\n"
        "12,52,29,2",
        kind="flow",
        modules=("altair", "pandas", "vl_convert"),
    ),
    "tips": Demo(
        "write a web page, try it in the browser, fix it",
        "create a page tip.html that calculates a tip and each guest's share, and try it in the "
        "browser",
        uses_browser=True,
    ),
}


@click.command()
@click.argument("name", required=False, type=click.Choice(list(DEMOS)))
def demo(name: str | None) -> int:
    """Play a recorded run; needs no model. Without a name, list the runs."""
    if name is not None:
        return play(name)
    for key, recording in DEMOS.items():
        sys.stdout.write(f"  {key:<11} {recording.title}\n")
    print_note("Play one with `manus demo NAME`.")
    return 0


def _check_needs(demo: Demo, settings: Settings) -> None:
    """Raise an error if the machine lacks something without which the recording cannot be played.

    Raises:
        UsageError: something is missing; the message says how to get it.
    """
    from manus.cli.doctor import check_browser
    from manus.runs.configuration import is_installed
    from manus.state.errors import UsageError
    from manus.tools.data_visualization import INSTALL

    missing = [module for module in demo.modules if not is_installed(module)]
    if missing:
        raise UsageError(f"This demo needs {', '.join(missing)}: {INSTALL}.")
    if demo.uses_browser and (finding := check_browser(settings)).state != "ok":
        raise UsageError(f"This demo needs a browser. {finding.remedy}")


def play(name: str) -> int:
    """Play a recorded run in a new folder and write its report there; return the exit code.

    Raises:
        UsageError: the machine lacks something that the demo needs.
    """
    import secrets

    from manus.cli.commands.pages import report
    from manus.cli.desktop import has_desktop
    from manus.cli.screen import Screen
    from manus.cli.settings import drop_settings, read_settings
    from manus.cli.start_run import start_run
    from manus.state.errors import UsageError
    from manus.state.request import typed_request

    demo = DEMOS[name]
    folder = Path(tempfile.mkdtemp(prefix=f"manus-{name}-"))
    drop_settings(folder)
    settings = read_settings()
    try:
        _check_needs(demo, settings)
    except UsageError:
        folder.rmdir()
        raise
    Screen().paragraph(
        "The model's turns in this run were written by hand and are replayed from a recording; the "
        "tools and their results are real."
    )
    thread = secrets.token_hex(5)
    file = _RECORDINGS / f"{name}.jsonl"
    # the calls are those of our recording, in a new folder: nothing is asked without a sandbox
    args = RunOptions(thread=thread, model=f"replay:{file}", workspace=str(folder), approve="yolo")
    code = start_run(demo.kind, args, typed_request(demo.request), settings)
    words = [thread, "-o", str(folder / "report.html"), *["--open"] * has_desktop()]
    report.main(words, "manus report", standalone_mode=False)
    return code
