"""`manus setup`, `doctor`, `trust`, `memory`, `held`, `profiles`, `graph`: settings, checks."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import click

from manus.cli.notes import print_note
from manus.cli.options import workspace_option


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
    from manus.calls.changed_files import forget_downloads
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
    from manus.tools.mcp.definitions import forget_tools, trust_changes

    if remove:
        forget_tools(name)
        return f"The MCP server {name} is forgotten; its tools at the next use will be trusted."
    changed = trust_changes(name)
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


@click.command()
@click.argument("names", nargs=-1)
@workspace_option
def held(names: tuple[str, ...], workspace: str | None) -> int:
    """List files that a run could not leave here, or bring them back.

    With NAMES, bring these files back; later runs do not take them out again.
    """
    from manus.cli.screen import Screen
    from manus.cli.settings import read_settings
    from manus.prompts.formatting import clean
    from manus.runs.configuration import resolve_workspace
    from manus.sandbox.held_files import bring_back, list_held
    from manus.state.errors import UsageError
    from manus.workspace.workspace import Workspace

    screen = Screen(quiet=False)
    target = Workspace(Path(resolve_workspace(read_settings(), workspace)))
    files = list_held(target.records)
    if unknown := [name for name in names if name not in files]:
        raise UsageError(f"{', '.join(unknown)} is not held; `manus held` lists what is.")
    for name in names:
        bring_back(target.root, name, files[name])
        screen.paragraph(f"Brought back: {clean(name)}")
    if not names:
        listing = "\n".join(f"{clean(name)}  ({path})" for name, path in files.items())
        screen.paragraph(listing or "No files are held.")
    return 0


@click.command()
def profiles() -> int:
    """List the agent profiles."""
    from manus.calls.catalog import entry_name
    from manus.cli.output import print_output
    from manus.cli.settings import read_settings
    from manus.graph.profiles import PROFILES, all_profiles
    from manus.prompts.formatting import count, flat

    read_settings()  # first, to report errors in other settings before those in profiles
    for name, profile in all_profiles().items():
        origin = "" if name in PROFILES else ", from manus.toml"
        tools = ", ".join(map(entry_name, profile.tools))
        texts = (flat(profile.description), f"tools: {tools}")
        lines = [textwrap.indent(textwrap.fill(text, 78), "  ") for text in texts]
        head = f"{profile.name} ({count(profile.max_steps, 'step')}{origin})"
        print_output("\n".join([head, *lines]))
    return 0


@click.command()
@click.argument("kind", default="agent", type=click.Choice(["agent", "flow"]))
def graph(kind: str) -> int:
    """Print a graph as a Mermaid diagram."""
    from manus.cli.output import print_output
    from manus.graph import build_graph

    print_output(build_graph(kind, "manus").get_graph().draw_mermaid())
    return 0
