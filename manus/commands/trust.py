"""`manus trust`: let the settings of a folder count, or what has changed of an MCP server."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--mcp", metavar="NAME", help="An MCP server that has changed, instead of a folder.")
@click.option("--remove", is_flag=True, help="Trust it no longer; forget what a server was.")
def trust(folder: Path, mcp: str | None, remove: bool) -> int:
    """Let a folder's manus.toml, .env, AGENTS.md and skills count, until they change."""
    from manus.state.errors import UsageError

    try:
        said = _folder(folder, remove) if mcp is None else _server(mcp, remove)
    except OSError as error:
        raise UsageError(f"It cannot be kept what is trusted: {error}.") from None
    sys.stderr.write(f"{said}\n")
    return 0


def _folder(folder: Path, remove: bool) -> str:
    from manus.state.trust import trust as keep

    keep(folder, trusted=not remove)
    how = "is not trusted any more" if remove else "is trusted until its settings change"
    return f"The folder {folder.resolve()} {how}."


def _server(name: str, remove: bool) -> str:
    from manus.formatting import flat
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
