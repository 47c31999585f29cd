"""Read and store whether the user trusts the files in a run's folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

QUESTION = "Do you trust the files in this folder?"
CONSEQUENCE = (
    "If you do not, its AGENTS.md, skills and settings do not apply, and text from its files "
    "counts as untrusted: the agent asks before it sends anything to a host that you have not "
    "named."
)


def is_undecided(folder: Path) -> bool:
    """Return whether the user has not yet trusted or distrusted a folder. Blocking."""
    from manus.config.trust import is_trusted

    try:
        is_empty = next(folder.iterdir(), None) is None
    except OSError:  # missing, or not readable
        return False
    return not is_empty and is_trusted(folder, os.environ) is None and not trusts_files(folder)


def decide(folder: Path, *, trusted: bool) -> None:
    """Store the user's decision about a folder; report it on stderr if that fails. Blocking."""
    from manus.config.trust import trust

    try:
        trust(folder, trusted=trusted)
    except OSError as error:
        sys.stderr.write(f"manus: Cannot save your answer: {error}.\n")


def trusts_files(folder: Path) -> bool:
    """Return whether the files of a folder are trusted. Blocking."""
    from manus.workspace.workspace import Workspace

    return Workspace(folder).trusts_files(os.environ)
