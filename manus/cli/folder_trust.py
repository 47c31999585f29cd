"""Ask at the terminal whether the user trusts the files in the workspace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from manus.cli.trust_question import ask_to_trust, can_ask
from manus.state.errors import ManusError

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.runs.options import RunOptions
    from manus.threads.base import Store


def ask_for_file_trust(args: RunOptions, settings: Settings) -> Path | None:
    """Ask once about the workspace; return it if its files are trusted. Blocking.

    Without a terminal, files of an undecided folder count as untrusted text. A decision about the
    current folder holds for the folder that runs there create, not for what else is in it.
    """
    from manus.config.trust import is_trusted
    from manus.runs.configuration import decide, is_undecided, trusts_files

    folder = find_workspace(args, settings)
    if can_ask() and is_undecided(folder):
        here = Path.cwd().resolve()
        own = (here, here / "workspace")  # the default of the settings
        decision = is_trusted(here, os.environ) if folder in own else None
        if decision is None:
            ask_to_trust(folder)
        else:
            decide(folder, trusted=decision)
    return folder if trusts_files(folder) else None


def find_workspace(args: RunOptions, settings: Settings) -> Path:
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
