"""`manus demo`: recorded runs with hand-written model turns and real tools; need no model."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from manus.cli.notes import print_note
from manus.runs.options import RunOptions

_RECORDINGS = Path(__file__).parents[2] / "recordings"
_MACHINE_SETTINGS = ("MANUS_CHECKPOINT", "MANUS_SANDBOX", "MANUS_BROWSER_PATH", "MANUS_DEBUG")
"""Settings about the machine rather than the model; they also apply to demos."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A recorded run."""

    title: str
    request: str
    kind: str = "agent"


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
    ),
    "tips": Demo(
        "write a web page, try it in the browser, fix it",
        "create a page tip.html that calculates a tip and each guest's share, and try it in the "
        "browser",
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


def play(name: str) -> int:
    """Play a recorded run in a new folder and write its report there; return the exit code."""
    import secrets

    from manus.cli.commands.pages import report
    from manus.cli.desktop import has_desktop
    from manus.cli.screen import Screen
    from manus.cli.settings import read_settings
    from manus.cli.start_run import start_run
    from manus.state.request import typed_request

    demo = DEMOS[name]
    Screen().paragraph(
        "The model's turns in this run were written by hand and are replayed from a recording; the "
        "tools and their results are real."
    )
    folder = Path(tempfile.mkdtemp(prefix=f"manus-{name}-"))
    # only settings of the machine apply, no other models, approvals or limits
    for variable in [
        n for n in os.environ if n.startswith("MANUS_") and n not in _MACHINE_SETTINGS
    ]:
        del os.environ[variable]
    os.environ["XDG_CONFIG_HOME"] = str(folder / ".config")
    os.chdir(folder)
    thread = secrets.token_hex(5)
    file = _RECORDINGS / f"{name}.jsonl"
    args = RunOptions(thread=thread, model=f"replay:{file}", workspace=str(folder))
    code = start_run(demo.kind, args, typed_request(demo.request), read_settings())
    words = [thread, "-o", str(folder / "report.html"), *["--open"] * has_desktop()]
    report.main(words, "manus report", standalone_mode=False)
    return code
