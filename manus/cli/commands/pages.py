"""`manus report`, `ui` and `watch`: threads as pages, in a file or on this machine."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manus.cli.options import PORT, thread_argument
from manus.runs.options import RunOptions

if TYPE_CHECKING:
    from manus.store.base import Store

_port = click.option(
    "--port", metavar="N", type=PORT, default=0, help="On 127.0.0.1 (default: any free one)."
)


@click.command()
@thread_argument
@click.option(
    "-o", "--output", metavar="FILE", help="The page (default THREAD.html); - for stdout."
)
@click.option("--open", "show", is_flag=True, help="Show it in the browser.")
def report(thread: str, output: str | None, show: bool) -> int:
    """Write a thread as one HTML page."""
    from manus.cli.settings import with_store
    from manus.config.files import is_regular, write_atomically
    from manus.state.errors import UsageError

    thread, shown = with_store(lambda store: _page(store, thread))
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
    if show and is_regular(path):
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0


def has_desktop() -> bool:
    """Whether a browser would have a screen to show a page on."""
    return sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


async def _page(store: Store, meant: str) -> tuple[str, str]:
    """The thread's id, and its page."""
    from manus.pages.report.page import page
    from manus.pages.trace.reading import read_trace
    from manus.store.threads import find_thread, is_being_worked_on

    thread = await find_thread(store, meant)
    is_running = await is_being_worked_on(store, thread)
    runs = await read_trace(store, thread, is_running=is_running)
    return thread, page(thread, runs, place=store.location)


@click.command()
@_port
@click.option("--workspace", metavar="DIR", help="For new threads (default as of `run`).")
@click.option("--profile", metavar="NAME", help="For new threads.")
@click.option("--model", metavar="PROVIDER:NAME", help="The model.")
@click.option("--no-open", is_flag=True, help="Do not show it in the browser.")
def ui(port: int, no_open: bool, **chosen: Any) -> int:
    """Talk to the agent on a page on this machine."""
    return _serve(port, show=not no_open, **chosen)


@click.command()
@thread_argument
@_port
@click.option("--open", "show", is_flag=True, help="Show it in the browser.")
def watch(thread: str, port: int, show: bool) -> int:
    """Show the report of a thread, which may yet have to begin, as a page that follows it."""
    return _serve(port, show=show, watched=thread)


def _serve(port: int, *, show: bool, watched: str | None = None, **chosen: Any) -> int:
    from manus.cli import startup
    from manus.cli.logs import set_up_logging
    from manus.cli.settings import read_settings, with_store

    settings = read_settings()
    set_up_logging()
    startup.load()
    from manus.pages.ui.backend import PageBackend
    from manus.pages.ui.server import serve
    from manus.store.threads import find_thread, read_thread

    async def talk(store: Store) -> None:
        place = ""
        if watched is not None:
            thread = await find_thread(store, watched, or_new=True)
            place = f"t/{thread}/report"
            if await read_thread(store, thread) is None:
                sys.stderr.write(
                    f"There is no thread {thread} in {store.location} yet; the page fills when it "
                    "begins.\n"
                )
        backend = PageBackend(store, settings, RunOptions(**chosen))
        await serve(backend, port, lambda address: _tell(f"{address}{place}", show=show))

    with_store(talk, settings)
    return 0


def _tell(address: str, *, show: bool) -> None:
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    sys.stderr.write("Ctrl-C ends it.\n")
    if show:
        import webbrowser

        webbrowser.open(address)
