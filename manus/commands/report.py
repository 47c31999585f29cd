"""`manus report`: a thread as one HTML page."""

from __future__ import annotations

import os
import re
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
    from manus.state.errors import UsageError
    from manus.state.files import write_atomically

    thread, shown = asyncio.run(_page(thread, read_settings()))
    html = shown.encode("utf-8", "replace")
    if output == "-":
        sys.stdout.buffer.write(html)
        sys.stdout.buffer.flush()
        return 0
    name = re.sub(r"[^\w.-]", "_", thread).lstrip(".")[:80] or "thread"
    path = Path(output or f"{name}.html")
    try:
        write_atomically(path, html)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "it is no file")
        raise UsageError(
            f"The report cannot be written to {path} ({why}); choose another file with -o."
        ) from None
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
        runs = await read_trace(store.saver, thread, is_running=is_running)
        return thread, page(thread, runs, place=store.place)
