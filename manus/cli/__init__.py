"""The command line."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `manus` and return its exit code; without arguments, with those of the process."""
    from manus.cli.entry import main as run_program

    return run_program(arguments)
