"""`manus run` and `manus flow`: a request, worked on until it ends."""

from __future__ import annotations

from typing import Any

import click

from manus.options import RunOptions, new_run_options


@click.command()
@new_run_options
def run(**chosen: Any) -> int:
    """Work on a request."""
    from manus.begin import begin

    return begin("agent", RunOptions(**chosen))


@click.command()
@new_run_options
@click.option("--approve-plan", is_flag=True, help="Show each plan and wait until you approve it.")
def flow(**chosen: Any) -> int:
    """Plan a request first, then work on the plan step by step."""
    from manus.begin import begin

    return begin("flow", RunOptions(**chosen))
