"""`manus demo`: recorded runs, which need no model: hand-written model turns, real tools."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from manus.runs.options import RunOptions

_RECORDINGS = Path(__file__).parents[2] / "recordings"
_KEPT = ("MANUS_CHECKPOINT", "MANUS_SANDBOX", "MANUS_BROWSER_PATH", "MANUS_DEBUG")
"""Settings that say something of the machine, and nothing of models."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A recorded run."""

    title: str
    request: str
    kind: str = "agent"


DEMOS = {
    "calculator": Demo(
        "a small program is written, tested and tried",
        "create a simple Python calculator with add, subtract, multiply, divide, and test it",
    ),
    "rentals": Demo(
        "a plan is made for some figures: checked, drawn and summed up (with the extra `data`)",
        "These are a bike shop's rentals of a year (the figures are made up). Draw them, and tell "
        "me each bike's best month, and how many of each I need in spring (March to May).\n\n"
        "month,city,cargo,mountain\n1,41,12,3\n2,44,15,4\n3,87,21,18\n4,132,30,44\n5,171,38,81\n"
        "6,188,41,117\n7,176,36,140\n8,169,35,151\n9,158,39,96\n10,119,33,52\n11,70,24,11\n"
        "12,52,29,2",
        kind="flow",
    ),
    "tips": Demo(
        "a page is made, tried in the browser and mended",
        "make a page tip.html that works out a tip and the share of each guest, and try it in the "
        "browser",
    ),
}


@click.command()
@click.argument("name", required=False, type=click.Choice(list(DEMOS)))
def demo(name: str | None) -> int:
    """Play a recorded run, which needs no model: without a name they are listed."""
    if name is not None:
        return play(name)
    for key, one in DEMOS.items():
        sys.stdout.write(f"  {key:<11} {one.title}\n")
    sys.stderr.write("`manus demo NAME` plays one of them.\n")
    return 0


def play(name: str) -> int:
    """Play a recorded run in a new folder, and write its report there; the exit code."""
    import secrets

    from manus.cli.commands import program
    from manus.cli.commands.pages import has_desktop
    from manus.cli.commands.run import begin
    from manus.cli.screen import Screen
    from manus.cli.settings import read_settings
    from manus.runs.attachments import typed_request

    demo = DEMOS[name]
    Screen().paragraph(
        "The model's turns in this run were written by hand and are played from a recording; the "
        "tools, and what they do, are real."
    )
    folder = Path(tempfile.mkdtemp(prefix=f"manus-{name}-"))
    # no settings but those of the machine count: other models, approvals or limits
    for variable in [n for n in os.environ if n.startswith("MANUS_") and n not in _KEPT]:
        del os.environ[variable]
    os.environ["XDG_CONFIG_HOME"] = str(folder / ".config")
    os.chdir(folder)
    thread = secrets.token_hex(5)
    file = _RECORDINGS / f"{name}.jsonl"
    args = RunOptions(thread=thread, model=f"replay:{file}", workspace=str(folder))
    code = begin(demo.kind, args, typed_request(demo.request), read_settings())
    words = ["report", thread, "-o", str(folder / "report.html"), *["--open"] * has_desktop()]
    program.main(words, "manus", standalone_mode=False)
    return code
