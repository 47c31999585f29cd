"""`manus replay`: run a thread again against its recorded replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from manus.cli.options import thread_argument

if TYPE_CHECKING:
    from pathlib import Path

    from manus.config.settings import Settings
    from manus.runs.replay import Difference
    from manus.threads.base import Store


@click.command()
@thread_argument
def replay(thread: str) -> int:
    """Repeat a thread with today's tools, and show what differs.

    No model is called: the recorded replies are used again, in a copy of the files as they were
    before the first step. Calls that acted outside the workspace or asked a person are not
    repeated. Exit code 1 if a step differs.
    """
    import tempfile
    from pathlib import Path

    from manus.cli.notes import print_note
    from manus.cli.output import print_output
    from manus.cli.settings import read_settings, with_store

    settings = read_settings()
    with tempfile.TemporaryDirectory(prefix="manus-replay-") as name:
        difference = with_store(
            lambda store: _replay(store, thread, settings, Path(name)), settings
        )
    if difference is None:
        print_note("All steps are as recorded.")
        return 0
    print_output(difference.describe())
    return 1


async def _replay(store: Store, prefix: str, settings: Settings, folder: Path) -> Difference | None:
    import asyncio

    from manus.cli.notes import print_note
    from manus.cli.settings import drop_settings
    from manus.graph.thread_graph import build_graph
    from manus.runs.replay import copy_first_files, read_recorded_runs, replay
    from manus.threads.sqlite import open_sqlite
    from manus.threads.thread_list import get_thread

    recorded = await get_thread(store, prefix)
    runs = await read_recorded_runs(store, recorded)
    workspace = folder / "workspace"
    workspace.mkdir()
    if not await asyncio.to_thread(copy_first_files, recorded, workspace):
        print_note("No files are recorded for this thread, so it starts in an empty folder.")
    profile = recorded.profile or settings.profile
    async with open_sqlite(folder / "threads.sqlite") as copy:
        graph = build_graph("agent", profile, copy)
        drop_settings(folder)
        return await replay(runs, recorded, copy, workspace, graph)
