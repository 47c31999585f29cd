"""`manus profiles` and `graph`: the kinds of agents there are, and how they work."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from manus.options import json_array


@click.command()
@json_array
def profiles(json: bool) -> int:
    """List the agent profiles."""
    from manus.configuration import read_settings
    from manus.formatting import count, flat
    from manus.graph.profiles import PROFILES, all_profiles
    from manus.report import print_json, print_output
    from manus.tools.catalog import entry_name

    read_settings()  # before the profiles: what the file says wrong elsewhere is told first
    found: list[dict[str, Any]] = [
        {
            "name": profile.name,
            "description": profile.description,
            "tools": [entry_name(tool) for tool in profile.tools],
            "max_steps": profile.max_steps,
            "max_observe": profile.max_observe,
            "role": profile.role,
            "own": name not in PROFILES,
        }
        for name, profile in all_profiles().items()
    ]
    if json:
        print_json(found)
    for profile in [] if json else found:
        origin = ", from manus.toml" if profile["own"] else ""
        texts = flat(profile["description"]), f"tools: {', '.join(profile['tools'])}"
        lines = [textwrap.indent(textwrap.fill(text, 78), "  ") for text in texts]
        head = f"{profile['name']} ({count(profile['max_steps'], 'step')}{origin})"
        print_output("\n".join([head, *lines]))
    return 0


@click.command()
@click.argument("kind", default="agent", type=click.Choice(["agent", "flow"]))
def graph(kind: str) -> int:
    """Print a graph as Mermaid."""
    from manus.jobs import build
    from manus.report import print_output

    print_output(build(kind, "manus").get_graph().draw_mermaid())
    return 0
