"""The commands of `manus`. Slow imports belong in the body of a command."""

from __future__ import annotations

import click

from manus import __version__
from manus.cli.commands.demo import demo
from manus.cli.commands.mcp import mcp
from manus.cli.commands.pages import acp, report, ui, watch
from manus.cli.commands.rewind import fork, history, replay, rewind
from manus.cli.commands.run import chat, flow, resume, run, send
from manus.cli.commands.setup import doctor, graph, held, memory, profiles, setup, trust
from manus.cli.commands.threads import show, threads
from manus.cli.commands.transfer import export, import_thread
from manus.cli.commands.worker import worker

EXIT_CODES = (
    "Exit codes: 0 success, 1 failed or unfinished, 2 wrong usage or configuration, 130 Ctrl-C."
)


class OrderedGroup(click.Group):
    """A group that lists its commands in the order they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands."""
        return list(self.commands)


@click.group(
    cls=OrderedGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="manus %(version)s")
def program() -> None:
    """Run a general agent that works on a task step by step until it is done."""


def _add(*commands: click.Command) -> None:
    for command in commands:
        program.add_command(command)


_add(chat, run, flow, resume, send, worker, threads, show, history, rewind, fork)
_add(replay, export, import_thread, report, watch, ui)
_add(profiles, graph, mcp, acp, memory, trust, held, setup, doctor, demo)
