"""`manus report`: a thread as one HTML page."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from manus.options import read_settings, thread_id

if TYPE_CHECKING:
    from pathlib import Path

    from manus.state.settings import Settings

SUMMARY = "Write a thread as one HTML page"


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The thread, and where the page goes."""
    parser.add_argument("thread", metavar="THREAD", type=thread_id, help="the thread's id")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the page (default THREAD.html); - for stdout"
    )
    parser.add_argument("--open", action="store_true", help="show it in the browser")


def execute(args: argparse.Namespace) -> int:
    """Write the page."""
    import asyncio
    from pathlib import Path

    html = asyncio.run(_page(args.thread, read_settings()))
    if args.output == "-":
        sys.stdout.buffer.write(html.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
        return 0
    path = Path(args.output) if args.output else Path(_file_name(args.thread))
    _write(path, html)
    sys.stderr.write(f"The report on the thread {args.thread} is in {path}.\n")
    if args.open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0


async def _page(thread: str, settings: Settings) -> str:
    from manus.checkpoint import open_store
    from manus.run_report.gather import gather
    from manus.run_report.page import page
    from manus.run_report.trail import read_trail
    from manus.threads import get_thread, is_being_worked_on

    async with open_store(settings) as store:
        await get_thread(store, thread)
        is_running = await is_being_worked_on(store, thread)
        trail = await read_trail(store.saver, thread)
        return page(gather(trail, place=store.place, is_running=is_running))


def _file_name(thread: str) -> str:
    """The thread's id as the name of a file in this folder."""
    kept = "".join(c if c.isalnum() or c in "-_." else "_" for c in thread).lstrip(".")
    return f"{kept[:80] or 'thread'}.html"


def _write(path: Path, html: str) -> None:
    """Put the page in its place, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    from manus.state.errors import UsageError
    from manus.state.files import write_atomically

    try:
        if path.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        if path.exists() and not path.is_file():  # such as /dev/stdout: nothing to be replaced
            path.write_text(html, "utf-8", "replace")
            return
        write_atomically(path, html.encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(
            f"The report cannot be written to {path} ({error.strerror}); choose another file "
            "with -o."
        ) from None
