"""The question whether a person trusts the files of the folder that a run is to work in."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from manus.state.errors import ManusError

if TYPE_CHECKING:
    from manus.checkpoint import Store
    from manus.options import RunOptions
    from manus.state.settings import Settings

QUESTION = "Do you trust the files in this folder?"
CONSEQUENCE = (
    "If not, what they say is untrusted text: the agent asks before it sends anything to a host "
    "that you have not named. Its AGENTS.md, skills and settings do not apply."
)


def ask_for_file_trust(args: RunOptions, settings: Settings) -> Path | None:
    """Ask a person at the terminal once, and return the folder if its files are trusted. Blocking.

    Without a person, the files of a folder that nobody has trusted are untrusted text.
    """
    from manus.questions import ask_yes, someone_is_there

    folder = _folder_of(args, settings)
    if someone_is_there() and sys.stderr.isatty() and is_undecided(folder):
        sys.stderr.write(f"{folder}\n{CONSEQUENCE}\n")
        decide(folder, trusted=ask_yes(QUESTION))
    return folder if _is_trusted(folder) else None


def is_undecided(folder: Path) -> bool:
    """Return whether a person has yet to say if they trust a folder. Blocking."""
    from manus.state.trust import is_trusted

    try:
        is_empty = next(folder.iterdir(), None) is None
    except OSError:  # it is not there yet, or cannot be read
        return False
    return not is_empty and is_trusted(folder, os.environ) is None and not _is_trusted(folder)


def decide(folder: Path, *, trusted: bool) -> None:
    """Keep what a person has said of a folder; where it cannot be kept, say so. Blocking."""
    from manus.state.trust import trust

    try:
        trust(folder, trusted=trusted)
    except OSError as error:
        sys.stderr.write(f"manus: The answer cannot be kept: {error}.\n")


def _is_trusted(folder: Path) -> bool:
    from manus.tools.workspace import Workspace

    return Workspace(folder).trusts_files(os.environ)


def _folder_of(args: RunOptions, settings: Settings) -> Path:
    """Return the workspace of the run: that of its thread, if it goes on with one."""
    from manus.configuration import workspace_of

    stored = None
    if args.workspace is None and (args.thread or args.last):
        stored = _workspace_of_thread(args, settings)
    return Path(stored or workspace_of(settings, args.workspace)).expanduser().resolve()


def _workspace_of_thread(args: RunOptions, settings: Settings) -> str | None:
    from manus.configuration import with_store
    from manus.options import NEWEST
    from manus.threads import find_thread, read_thread

    async def read(store: Store) -> str | None:
        meant = NEWEST if args.last else args.thread or NEWEST
        known = await read_thread(store, await find_thread(store, meant, or_new=True))
        return known.workspace if known else None

    try:
        return with_store(read, settings)
    except ManusError:  # the run itself says what is wrong with the thread
        return None
