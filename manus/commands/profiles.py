"""`manus profiles`: the kinds of agents there are, ours and the user's own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from manus.options import json_array

if TYPE_CHECKING:
    from manus.state.profile import Profile


@click.command()
@json_array
def profiles(json: bool) -> int:
    """List the agent profiles."""
    from manus.configuration import read_settings
    from manus.graph.profiles import PROFILES, all_profiles
    from manus.report import print_json

    read_settings()  # before the profiles: what the file says wrong elsewhere is told first
    found = all_profiles()
    if json:
        print_json([_as_json(p, own=name not in PROFILES) for name, p in found.items()])
    else:
        for name, profile in found.items():
            _print(profile, own=name not in PROFILES)
    return 0


def _as_json(profile: Profile, *, own: bool) -> dict[str, Any]:
    return {
        "name": profile.name,
        "description": profile.description,
        "tools": _tool_names(profile),
        "max_steps": profile.max_steps,
        "max_observe": profile.max_observe,
        "role": profile.role,
        "own": own,
    }


def _print(profile: Profile, *, own: bool) -> None:
    from rich.text import Text

    from manus.formatting import clean, count, flat
    from manus.screen import console_of

    console = console_of(sys.stdout)
    origin = ", from manus.toml" if own else ""
    sys.stdout.write(f"{clean(profile.name)} ({count(profile.max_steps, 'step')}{origin})\n")
    for line in (flat(profile.description), f"tools: {', '.join(_tool_names(profile))}"):
        for part in Text(line).wrap(console, console.width - 2):
            sys.stdout.write(f"  {part.plain.rstrip()}\n")


def _tool_names(profile: Profile) -> list[str]:
    from manus.tools.catalog import entry_name

    return [entry_name(tool) for tool in profile.tools]
