"""`manus threads`: list threads, or delete some."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from manus.options import positive, read_settings, thread_id
from manus.state.errors import StorageError

if TYPE_CHECKING:
    from manus.checkpoint import Store
    from manus.state.settings import Settings
    from manus.threads import Thread

SUMMARY = "List threads, the newest first, or delete some"
_HEAD = ("THREAD", "STATUS", "STEPS", "AGE", "REQUEST")


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many to list, and which to delete."""
    parser.add_argument("--limit", metavar="N", type=positive, default=20, help="how many (20)")
    parser.add_argument(
        "--delete",
        metavar="ID",
        type=thread_id,
        action="append",
        default=[],
        help="delete this thread with its journal and archive; what it did to files stays",
    )
    parser.add_argument("--json", action="store_true", help="a JSON array on stdout")


def execute(args: argparse.Namespace) -> int:
    """List or delete."""
    import asyncio

    settings = read_settings()
    if args.delete:
        return asyncio.run(_delete(settings, args.delete))
    return asyncio.run(_list(settings, args))


async def _list(settings: Settings, args: argparse.Namespace) -> int:
    from manus.checkpoint import open_store
    from manus.report import print_json

    async with open_store(settings) as store:
        threads = [t for i in await store.recent(args.limit) if (t := await _look_up(store, i))]
        place = store.place
    if args.json:
        print_json([thread.as_json() for thread in threads])
    elif threads:
        print_table(threads)
    else:
        sys.stderr.write(f"There are no threads yet in {place}.\n")
    return 0


async def _look_up(store: Store, found: str) -> Thread | None:
    from dataclasses import replace

    from manus.threads import is_being_worked_on, read_thread

    try:
        thread = await read_thread(store, found)
    except StorageError as error:  # one that is damaged must not hide the others
        sys.stderr.write(f"The thread {found} is left out. {error}\n")
        return None
    if thread is None:
        return None
    if thread.status in ("unfinished", "waiting") and await is_being_worked_on(store, found):
        return replace(thread, status="running")
    return thread


def print_table(threads: list[Thread]) -> None:
    """One line a thread; as wide as the terminal, and whole where there is none."""
    import shutil

    from manus.text import fit, flat
    from manus.threads import age

    now = datetime.now(UTC)
    rows = [_HEAD] + [
        (t.thread_id, t.status, str(t.steps), age(t.updated, now), flat(t.request)) for t in threads
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD) - 1)]
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        sys.stdout.write(fit("  ".join([*cells, row[-1]]).rstrip(), most) + "\n")


async def _delete(settings: Settings, ids: list[str]) -> int:
    from manus.checkpoint import open_store
    from manus.records import delete_records
    from manus.threads import get_thread

    async with open_store(settings) as store:
        threads = [await get_thread(store, given) for given in ids]
        for thread in threads:
            async with store.hold(thread.thread_id):
                # first, so that the command can be given again if it is stopped in between
                left = await delete_records(store, thread)
                await store.saver.adelete_thread(thread.thread_id)
            sys.stderr.write(f"The thread {thread.thread_id} is deleted.\n")
            for problem in left:
                sys.stderr.write(f"{problem}\n")
    return 0
