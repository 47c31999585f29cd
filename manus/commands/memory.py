"""`manus memory`: what is kept across threads."""

from __future__ import annotations

import sys

import click


@click.command()
@click.option("--edit", is_flag=True, help="Open it in your editor.")
def memory(edit: bool) -> int:
    """Print what the agent was asked to remember, and where it is kept."""
    from manus.report import print_output
    from manus.state.files import make_private_folder
    from manus.state.memory import memory_file, read_memory

    if edit:
        make_private_folder(memory_file().parent)
        click.edit(filename=str(memory_file()))
    sys.stderr.write(f"{memory_file()}\n")
    print_output(read_memory() or "Nothing is kept.")
    return 0
