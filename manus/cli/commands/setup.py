"""`manus setup`, `doctor`, `trust` and `memory`: settings, checks and stored decisions."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from manus.cli.notes import print_note


@click.command()
def setup() -> int:
    """Choose a model and store its API key. The settings apply everywhere."""
    from manus.cli.questions import is_interactive
    from manus.cli.setup import ask_settings
    from manus.cli.user_settings import save_settings
    from manus.config.settings import user_file
    from manus.state.errors import UsageError

    if not is_interactive():
        raise UsageError(
            f"`manus setup` needs a terminal; without one, write the settings to {user_file()}."
        )
    try:
        save_settings(ask_settings())
    except EOFError:
        raise UsageError("Nothing was changed; run `manus setup` again to start over.") from None
    from manus.cli.findings import print_findings
    from manus.cli.model_check import check_main_model
    from manus.cli.settings import read_settings

    finding = check_main_model(read_settings())
    print_findings([finding])
    return 1 if finding.state == "missing" else 0


@click.command()
def doctor() -> int:
    """Check the installation and the settings."""
    from manus.cli.doctor import run_checks
    from manus.cli.findings import print_findings

    findings = run_checks()
    print_findings(findings)
    return 1 if any(finding.state == "missing" for finding in findings) else 0


@click.command()
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--mcp", metavar="NAME", help="Trust a changed MCP server instead of a folder.")
@click.option("--remove", is_flag=True, help="Revoke trust; for a server, forget its tools.")
def trust(folder: Path, mcp: str | None, remove: bool) -> int:
    """Trust this folder's manus.toml, .env, AGENTS.md and skills.

    Trust ends when any of them changes.
    """
    from manus.calls.downloads import forget_downloads
    from manus.config.trust import trust as save_trust
    from manus.state.errors import UsageError
    from manus.workspace.workspace import Workspace

    try:
        if mcp is not None:
            message = _trust_server(mcp, remove)
        else:
            save_trust(folder, trusted=not remove)
            forget_downloads(Workspace(folder))
            state = "is no longer trusted" if remove else "is trusted until its settings change"
            message = f"The folder {folder.resolve()} {state}."
    except OSError as error:
        raise UsageError(f"Cannot save the decision: {error}.") from None
    print_note(message)
    return 0


def _trust_server(name: str, remove: bool) -> str:
    from manus.prompts.formatting import flat
    from manus.prompts.sources import framed
    from manus.tools.mcp import pins

    if remove:
        pins.forget(name)
        return f"The MCP server {name} is forgotten; its tools at the next use will be trusted."
    changed = pins.trust(name)
    if not changed:
        return f"The MCP server {name} has not changed since it was trusted."
    for tool, description in changed.items():
        text = framed(str(description["description"] or ""), "")  # makes hidden characters visible
        sys.stdout.write(f"{tool}: {flat(text)}\n")
    return f"The MCP server {name} is trusted until it changes again."


@click.command()
@click.option("--edit", is_flag=True, help="Open the file in your editor.")
def memory(edit: bool) -> int:
    """Print or edit what the agent remembers."""
    from manus.cli.output import print_output
    from manus.config.files import make_private_folder
    from manus.tools.remember import memory_file, read_memory

    if edit:
        make_private_folder(memory_file().parent)
        click.edit(filename=str(memory_file()))
    print_note(str(memory_file()))
    print_output(read_memory() or "The memory is empty.")
    return 0
