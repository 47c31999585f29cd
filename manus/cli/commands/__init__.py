"""The commands, one a module. Only the body of a command imports what is slow."""

from __future__ import annotations

import click

from manus import __version__
from manus.cli.commands.demo import demo
from manus.cli.commands.import_config import import_config
from manus.cli.commands.mcp import mcp
from manus.cli.commands.pages import report, ui, watch
from manus.cli.commands.profiles import graph, profiles
from manus.cli.commands.run import chat, flow, resume, run
from manus.cli.commands.setup import doctor, memory, setup, trust
from manus.cli.commands.threads import show, threads

EXIT_CODES = (
    "Exit codes: 0 finished with success, 1 not, 2 wrong usage or configuration, 130 after Ctrl-C."
)


class InOrder(click.Group):
    """Lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names."""
        return list(self.commands)


@click.group(
    cls=InOrder, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="manus %(version)s")
def program() -> None:
    """A general agent: it thinks, acts and plans, step by step, until a task is done."""


def _add(*commands: click.Command) -> None:
    for command in commands:
        program.add_command(command)


_add(chat, run, flow, resume, threads, show, report, watch, ui)
_add(profiles, graph, mcp, memory, import_config, trust, setup, doctor, demo)
