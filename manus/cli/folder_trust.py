"""Ask at the terminal whether the user trusts the files in the workspace."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from manus.cli.notes import print_note
from manus.state.errors import ManusError

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.runs.options import RunOptions
    from manus.threads.base import Store


def can_ask() -> bool:
    """Return whether a person sees a question and can type the answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_to_trust(folder: Path, effects: Sequence[str] = ()) -> None:
    """Ask whether the user trusts a folder, and store the answer. Blocking.

    `effects` are sentences on what its files would change.
    """
    from manus.cli.choices import ask_yes
    from manus.runs.folder_trust import CONSEQUENCE, QUESTION, decide

    print_note(f"{QUESTION} {folder}\n{' '.join([*effects, CONSEQUENCE])}")
    decide(folder, trusted=ask_yes())


def ask_for_file_trust(args: RunOptions, settings: Settings) -> Path | None:
    """Ask once about the workspace; return it if its files are trusted. Blocking.

    Without a terminal, files of an undecided folder count as untrusted text. A decision about the
    current folder holds for a workspace in it.
    """
    from manus.config.trust import is_trusted
    from manus.runs.folder_trust import decide, is_undecided, trusts_files

    folder = _find_workspace(args, settings)
    if can_ask() and is_undecided(folder):
        here = Path.cwd().resolve()
        decision = is_trusted(here, os.environ) if folder.is_relative_to(here) else None
        if decision is None:
            ask_to_trust(folder)
        else:
            decide(folder, trusted=decision)
    return folder if trusts_files(folder) else None


def _find_workspace(args: RunOptions, settings: Settings) -> Path:
    """Return the workspace of the run; for an existing thread, that of the thread."""
    from manus.runs.configuration import resolve_workspace

    stored = None
    if args.workspace is None and (args.thread or args.last):
        stored = _find_thread_workspace(args, settings)
    return Path(stored or resolve_workspace(settings, args.workspace)).expanduser().resolve()


def _find_thread_workspace(args: RunOptions, settings: Settings) -> str | None:
    from manus.cli.settings import with_store
    from manus.threads.thread_id import NEWEST
    from manus.threads.thread_list import find_thread, read_thread

    async def read(store: Store) -> str | None:
        thread = NEWEST if args.last else args.thread or NEWEST
        stored = await read_thread(store, await find_thread(store, thread, or_new=True))
        return stored.workspace if stored else None

    try:
        return with_store(read, settings)
    except ManusError:  # the run reports what is wrong with the thread
        return None
