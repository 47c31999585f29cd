"""The commands by name. Each is a module with these four names; only its `execute` imports much."""

from __future__ import annotations

import argparse
from typing import Protocol, cast

from manus.commands import (
    doctor,
    flow,
    graph,
    import_config,
    mcp,
    profiles,
    report,
    resume,
    run,
    show,
    threads,
    watch,
)


class Command(Protocol):
    """One command."""

    SUMMARY: str

    @staticmethod
    def is_available() -> bool:
        """Whether it can be used here; else it is not shown."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Declare its arguments."""

    @staticmethod
    def execute(args: argparse.Namespace) -> int:
        """Carry it out and give the exit code."""


COMMANDS = {
    "run": cast(Command, run),
    "flow": cast(Command, flow),
    "resume": cast(Command, resume),
    "threads": cast(Command, threads),
    "show": cast(Command, show),
    "report": cast(Command, report),
    "watch": cast(Command, watch),
    "profiles": cast(Command, profiles),
    "graph": cast(Command, graph),
    "mcp": cast(Command, mcp),
    "import-config": cast(Command, import_config),
    "doctor": cast(Command, doctor),
}
