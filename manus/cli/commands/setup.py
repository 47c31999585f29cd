"""`manus setup`, `doctor`, `trust` and `memory`: what the program knows of its user and machine."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
def setup() -> int:
    """Choose a model and keep its key: settings that count everywhere."""
    from manus.cli.questions import someone_is_there
    from manus.cli.setup import ask_all, keep
    from manus.config.settings import user_file
    from manus.state.errors import UsageError

    if not someone_is_there():
        raise UsageError(
            f"`manus setup` asks at a terminal; without one, write the settings to {user_file()}."
        )
    try:
        keep(ask_all())
    except EOFError:
        raise UsageError("Nothing was changed; `manus setup` begins anew.") from None
    from manus.cli.findings import print_findings
    from manus.cli.model_check import find_model
    from manus.cli.settings import read_settings

    finding = find_model(read_settings())
    print_findings([finding])
    return 1 if finding.state == "missing" else 0


@click.command()
def doctor() -> int:
    """Check what is there and what is missing."""
    from manus.cli.doctor import examine
    from manus.cli.findings import print_findings

    findings = examine()
    print_findings(findings)
    return 1 if any(finding.state == "missing" for finding in findings) else 0


@click.command()
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--mcp", metavar="NAME", help="An MCP server that has changed, instead of a folder.")
@click.option("--remove", is_flag=True, help="Trust it no longer; forget what a server was.")
def trust(folder: Path, mcp: str | None, remove: bool) -> int:
    """Let a folder's manus.toml, .env, AGENTS.md and skills count, until they change."""
    from manus.config.trust import trust as keep
    from manus.execution.downloads import forget_downloads
    from manus.execution.workspace import Workspace
    from manus.state.errors import UsageError

    try:
        if mcp is not None:
            said = _server(mcp, remove)
        else:
            keep(folder, trusted=not remove)
            forget_downloads(Workspace(folder))
            how = "is not trusted any more" if remove else "is trusted until its settings change"
            said = f"The folder {folder.resolve()} {how}."
    except OSError as error:
        raise UsageError(f"It cannot be kept what is trusted: {error}.") from None
    sys.stderr.write(f"{said}\n")
    return 0


def _server(name: str, remove: bool) -> str:
    from manus.prompts.formatting import flat
    from manus.prompts.sources import framed
    from manus.tools.mcp import pins

    if remove:
        pins.forget(name)
        return f"The MCP server {name} is forgotten; what it is when next used will be trusted."
    changed = pins.trust(name)
    if not changed:
        return f"Nothing of the MCP server {name} has changed since it was trusted."
    for tool, about in changed.items():
        said = framed(str(about["description"] or ""), "")  # hidden characters are shown
        sys.stdout.write(f"{tool}: {flat(said)}\n")
    return f"The MCP server {name} is trusted until it changes again."


@click.command()
@click.option("--edit", is_flag=True, help="Open it in your editor.")
def memory(edit: bool) -> int:
    """Print what the agent was asked to remember, and where it is kept."""
    from manus.cli.output import print_output
    from manus.config.files import make_private_folder
    from manus.tools.remember import memory_file, read_memory

    if edit:
        make_private_folder(memory_file().parent)
        click.edit(filename=str(memory_file()))
    sys.stderr.write(f"{memory_file()}\n")
    print_output(read_memory() or "Nothing is kept.")
    return 0
