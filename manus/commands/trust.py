"""`manus trust`: let the settings of a folder count."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--remove", is_flag=True, help="Trust it no longer.")
def trust(folder: Path, remove: bool) -> int:
    """Let a folder's manus.toml and .env count, until they change (default: this folder)."""
    from manus.state.errors import UsageError
    from manus.state.trust import trust as keep

    try:
        keep(folder, trusted=not remove)
    except OSError as error:
        raise UsageError(f"It cannot be kept which folders are trusted: {error}.") from None
    how = "is not trusted any more" if remove else "is trusted until its settings change"
    sys.stderr.write(f"The folder {folder.resolve()} {how}.\n")
    return 0
