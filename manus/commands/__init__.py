"""The commands, one a module. Only the body of a command imports what is slow."""

from __future__ import annotations

import click

from manus import __version__
from manus.commands.chat import chat
from manus.commands.demo import demo
from manus.commands.doctor import doctor
from manus.commands.graph import graph
from manus.commands.import_config import import_config
from manus.commands.mcp import mcp
from manus.commands.memory import memory
from manus.commands.profiles import profiles
from manus.commands.report import report
from manus.commands.run import flow, resume, run
from manus.commands.setup import setup
from manus.commands.show import show
from manus.commands.threads import threads
from manus.commands.trust import trust
from manus.commands.ui import ui, watch

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


for command in (
    chat,
    run,
    flow,
    resume,
    threads,
    show,
    report,
    watch,
    ui,
    profiles,
    graph,
    mcp,
    memory,
    import_config,
    trust,
    setup,
    doctor,
    demo,
):
    program.add_command(command)
