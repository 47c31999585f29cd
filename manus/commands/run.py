"""`manus run`: a request, worked on until it ends."""

from __future__ import annotations

import argparse

from manus.options import add_new_run_options

SUMMARY = "Work on a request"


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The request, its thread, and the options of a run."""
    add_new_run_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Begin a run of the agent graph."""
    from manus.begin import begin

    return begin("agent", args)
