"""`manus report`: a thread as one HTML page."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from manus.options import thread_argument

if TYPE_CHECKING:
    from manus.state.settings import Settings


@click.command()
@thread_argument
@click.option(
    "-o", "--output", metavar="FILE", help="The page (default THREAD.html); - for stdout."
)
@click.option("--open", "show", is_flag=True, help="Show it in the browser.")
def report(thread: str, output: str | None, show: bool) -> int:
    """Write a thread as one HTML page."""
    import asyncio

    from manus.configuration import read_settings

    thread, shown = asyncio.run(_page(thread, read_settings()))
    html = shown.encode("utf-8", "replace")
    if output == "-":
        sys.stdout.buffer.write(html)
        sys.stdout.buffer.flush()
        return 0
    path = Path(output or _file_name(thread))
    _write(path, html)
    sys.stderr.write(f"The report on the thread {thread} is in {path}.\n")
    if show:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0


def has_desktop() -> bool:
    """Whether a browser would have a screen to show a page on."""
    return sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


async def _page(meant: str, settings: Settings) -> tuple[str, str]:
    """The thread's id, and its page."""
    from manus.checkpoint import open_store
    from manus.run_report.page import page
    from manus.threads import find_thread, is_being_worked_on
    from manus.trace.reading import read_trace

    async with open_store(settings) as store:
        thread = await find_thread(store, meant)
        is_running = await is_being_worked_on(store, thread)
        trace = await read_trace(store.saver, thread, is_running=is_running)
        return thread, page(trace, place=store.place)


def _file_name(thread: str) -> str:
    """The thread's id as the name of a file in this folder."""
    kept = "".join(c if c.isalnum() or c in "-_." else "_" for c in thread).lstrip(".")
    return f"{kept[:80] or 'thread'}.html"


def _write(path: Path, html: bytes) -> None:
    """Put the page in its place, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    from manus.state.errors import UsageError
    from manus.state.files import write_atomically

    # such as /dev/stdout: nothing to be replaced
    write = Path.write_bytes if path.exists() and not path.is_file() else write_atomically
    try:
        write(path, html)
    except OSError as error:
        raise UsageError(
            f"The report cannot be written to {path} ({error.strerror}); choose another file "
            "with -o."
        ) from None
