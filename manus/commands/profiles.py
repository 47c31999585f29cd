"""`manus profiles`: the kinds of agents there are, ours and the user's own."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manus.state.profile import Profile

SUMMARY = "List the agent profiles"


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How to print them."""
    parser.add_argument("--json", action="store_true", help="a JSON array on stdout")


def execute(args: argparse.Namespace) -> int:
    """List them."""
    from manus.graph.profiles import PROFILES, all_profiles
    from manus.options import read_settings
    from manus.report import print_json

    read_settings()  # before the profiles: what the file says wrong elsewhere is told first
    profiles = all_profiles()
    if args.json:
        print_json([_as_json(p, own=name not in PROFILES) for name, p in profiles.items()])
    else:
        for name, profile in profiles.items():
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
    """One profile, as wide as the terminal."""
    import shutil

    from manus.text import clean, count, flat
    from manus.wrap import WordWrap

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    origin = ", from manus.toml" if own else ""
    sys.stdout.write(f"{clean(profile.name)} ({count(profile.max_steps, 'step')}{origin})\n")
    for line in (flat(profile.description), f"tools: {', '.join(_tool_names(profile))}"):
        wrap = WordWrap(columns)
        sys.stdout.write(f"{wrap.feed(line)}{wrap.end()}\n")


def _tool_names(profile: Profile) -> list[str]:
    from manus.tools.catalog import entry_name

    return [entry_name(tool) for tool in profile.tools]
