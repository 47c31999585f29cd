"""`manus held`: files that runs were not allowed to leave in a workspace."""

from __future__ import annotations

from pathlib import Path

import click

from manus.cli.options import workspace_option


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
