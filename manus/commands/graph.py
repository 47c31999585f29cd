"""`manus graph`: a graph as Mermaid."""

from __future__ import annotations

import click


@click.command()
@click.argument("kind", default="agent", type=click.Choice(["agent", "flow"]))
def graph(kind: str) -> int:
    """Print a graph as Mermaid."""
    from manus.graphs import build
    from manus.report import print_output

    print_output(build(kind, "manus").get_graph().draw_mermaid())
    return 0
