"""`manus profiles` and `graph`: the agent profiles and graphs."""

from __future__ import annotations

import textwrap

import click


@click.command()
def profiles() -> int:
    """List the agent profiles."""
    from manus.calls.catalog import entry_name
    from manus.cli.output import print_output
    from manus.cli.settings import read_settings
    from manus.graph.profiles import PROFILES, all_profiles
    from manus.prompts.formatting import count, flat

    read_settings()  # first, to report errors in other settings before those in profiles
    for name, profile in all_profiles().items():
        origin = "" if name in PROFILES else ", from manus.toml"
        tools = ", ".join(map(entry_name, profile.tools))
        texts = (flat(profile.description), f"tools: {tools}")
        lines = [textwrap.indent(textwrap.fill(text, 78), "  ") for text in texts]
        head = f"{profile.name} ({count(profile.max_steps, 'step')}{origin})"
        print_output("\n".join([head, *lines]))
    return 0


@click.command()
@click.argument("kind", default="agent", type=click.Choice(["agent", "flow"]))
def graph(kind: str) -> int:
    """Print a graph as a Mermaid diagram."""
    from manus.cli.output import print_output
    from manus.graph.thread_graph import build_graph

    print_output(build_graph(kind, "manus").get_graph().draw_mermaid())
    return 0
