"""`manus report`, `ui`, `watch` and `acp`: threads as HTML pages, and for editors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manus.cli.notes import print_note
from manus.cli.options import PORT, thread_argument
from manus.runs.options import RunOptions

if TYPE_CHECKING:
    from manus.threads.base import Store


_port = click.option(
    "--port", metavar="N", type=PORT, default=0, help="Port on 127.0.0.1. [default: any free port]"
)


@click.command()
@thread_argument
@click.argument("file", required=False)
@click.option("-o", "--output", metavar="FILE", help="Same as FILE.")
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
def report(thread: str, file: str | None, output: str | None, show: bool) -> int:
    """Write a thread as one HTML page.

    FILE is THREAD.html by default; - is stdout.
    """
    from manus.cli.settings import with_store
    from manus.config.files import is_regular, write_atomically
    from manus.state.errors import UsageError

    output = output or file
    thread, page = with_store(lambda store: _page(store, thread))
    html = page.encode("utf-8", "replace")
    if output == "-":
        sys.stdout.buffer.write(html)
        sys.stdout.buffer.flush()
        return 0
    name = re.sub(r"[^\w.-]", "_", thread).lstrip(".")[:80] or "thread"
    path = Path(output or f"{name}.html")
    try:
        write_atomically(path, html)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "not a valid file name")
        raise UsageError(
            f"Cannot write the report to {path} ({reason}); choose another file with -o."
        ) from None
    print_note(f"The report of the thread {thread} is in {path}.")
    if show and is_regular(path):
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0


async def _page(store: Store, prefix: str) -> tuple[str, str]:
    """Return the thread's full id and its report as HTML."""
    from manus.pages.report.page import page
    from manus.pages.trace.reading import read_trace
    from manus.threads.thread_list import find_thread, is_being_worked_on

    thread = await find_thread(store, prefix)
    is_running = await is_being_worked_on(store, thread)
    runs = await read_trace(store, thread, is_running=is_running)
    return thread, page(thread, runs, place=store.location)


@click.command()
@_port
@click.option(
    "--workspace", metavar="DIR", help="Working directory of new threads. [default: as for `run`]"
)
@click.option("--profile", metavar="NAME", help="Agent profile of new threads. [default: manus]")
@click.option("--model", metavar="PROVIDER:NAME", help="Model to use.")
@click.option("--no-open", is_flag=True, help="Do not open the browser.")
def ui(port: int, no_open: bool, **options: Any) -> int:
    """Chat with the agent on a local web page."""
    return _serve(port, show=not no_open, **options)


@click.command()
@thread_argument
@_port
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
def watch(thread: str, port: int, show: bool) -> int:
    """Serve a live report of a thread. You can start it before the run."""
    return _serve(port, show=show, watched=thread)


def _serve(port: int, *, show: bool, watched: str | None = None, **options: Any) -> int:
    from manus.cli import startup
    from manus.cli.logs import set_up_logging
    from manus.cli.settings import read_settings, with_store

    settings = read_settings()
    set_up_logging()
    startup.load()
    from manus.pages.ui.backend import PageBackend
    from manus.pages.ui.server import serve
    from manus.threads.thread_list import find_thread, read_thread

    async def serve_pages(store: Store) -> None:
        path = ""
        if watched is not None:
            thread = await find_thread(store, watched, or_new=True)
            path = f"t/{thread}/report"
            if await read_thread(store, thread) is None:
                print_note(
                    f"There is no thread {thread} in {store.location} yet; the page updates "
                    "when it starts."
                )
        backend = PageBackend(store, settings, RunOptions(**options))
        await serve(backend, port, lambda address: _announce(f"{address}{path}", show=show))

    with_store(serve_pages, settings)
    return 0


def _announce(address: str, *, show: bool) -> None:
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    print_note("Press Ctrl-C to stop the server.")
    if show:
        import webbrowser

        webbrowser.open(address)


@click.command()
def acp() -> int:
    """Serve an editor over stdin and stdout (Agent Client Protocol)."""
    import asyncio

    from manus.cli import startup
    from manus.cli.logs import flush_traces, set_up_logging
    from manus.cli.settings import read_settings
    from manus.config.packages import import_optional

    remedy = "install the extra `acp` (`make setup EXTRAS=acp`)"
    import_optional("acp", "Editors need", "agent-client-protocol", remedy)
    settings = read_settings()
    set_up_logging()
    startup.load()
    agent = import_optional("manus.acp.agent", "Editors need", "agent-client-protocol", remedy)

    with flush_traces():
        return int(asyncio.run(agent.serve(settings)))
