"""The question whether a person trusts the files of the folder that a run is to work in."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

QUESTION = "Do you trust the files in this folder?"
CONSEQUENCE = (
    "If not, what they say is untrusted text: the agent asks before it sends anything to a host "
    "that you have not named. Its AGENTS.md, skills and settings do not apply."
)


def is_undecided(folder: Path) -> bool:
    """Return whether a person has yet to say if they trust a folder. Blocking."""
    from manus.config.trust import is_trusted

    try:
        is_empty = next(folder.iterdir(), None) is None
    except OSError:  # it is not there yet, or cannot be read
        return False
    return not is_empty and is_trusted(folder, os.environ) is None and not trusts_files(folder)


def decide(folder: Path, *, trusted: bool) -> None:
    """Keep what a person has said of a folder; where it cannot be kept, say so. Blocking."""
    from manus.config.trust import trust

    try:
        trust(folder, trusted=trusted)
    except OSError as error:
        sys.stderr.write(f"manus: The answer cannot be kept: {error}.\n")


def trusts_files(folder: Path) -> bool:
    """Return whether the files of a folder are trusted. Blocking."""
    from manus.execution.workspace import Workspace

    return Workspace(folder).trusts_files(os.environ)
