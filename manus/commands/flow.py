"""`manus flow`: a request, planned first and then worked on step by step."""

from __future__ import annotations

import argparse

from manus.graphs import kinds
from manus.options import add_new_run_options

SUMMARY = "Plan a request first, then work on the plan step by step"


def is_available() -> bool:
    """Where there is a flow graph."""
    return "flow" in kinds()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The request, its thread, and the options of a run."""
    add_new_run_options(parser)
    parser.add_argument(
        "--approve-plan", action="store_true", help="show each plan and wait until you approve it"
    )


def execute(args: argparse.Namespace) -> int:
    """Begin a run of the flow graph."""
    from manus.begin import begin

    return begin("flow", args)
