"""`manus graph`: a graph as Mermaid."""

from __future__ import annotations

import argparse

from manus.graphs import kinds

SUMMARY = "Print a graph as Mermaid"


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which graph."""
    parser.add_argument("kind", nargs="?", choices=kinds(), default="agent", help="(agent)")


def execute(args: argparse.Namespace) -> int:
    """Print the drawing on stdout."""
    from manus.graphs import build
    from manus.report import print_output

    print_output(build(args.kind, "manus").get_graph().draw_mermaid())
    return 0
