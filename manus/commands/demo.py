"""`manus demo`: recorded runs, which need no model."""

from __future__ import annotations

import sys

import click


@click.command()
@click.argument("name", required=False)
def demo(name: str | None) -> int:
    """Play a recorded run, which needs no model: without a name they are listed."""
    from manus.configuration import is_installed
    from manus.demo import DEMOS, play
    from manus.questions import ask_text, someone_is_there

    lacking = [key for key, one in DEMOS.items() if one.needs and not is_installed(one.needs)]
    if name is None:
        for key, one in DEMOS.items():
            lacks = " (needs the extra `data`)" if key in lacking else ""
            sys.stdout.write(f"  {key:<11} {one.title}{lacks}\n")
        if not someone_is_there():
            return 0
        name = ask_text("Which one? [calculator] ", choices=[*DEMOS]) or "calculator"
    if name not in DEMOS:
        raise click.UsageError(f"There is no demo {name!r}; there are {', '.join(DEMOS)}")
    if name in lacking:
        raise click.UsageError(f"The demo {name} draws a chart: install the extra `data` first")
    return play(name)
