"""`manus watch`: a thread as a page that follows it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from manus.options import PORT, thread_argument

if TYPE_CHECKING:
    from manus.state.settings import Settings


@click.command()
@thread_argument
@click.option(
    "--port", metavar="N", type=PORT, default=0, help="On 127.0.0.1 (default: any free one)."
)
@click.option("--open", "show", is_flag=True, help="Show it in the browser.")
def watch(thread: str, port: int, show: bool) -> int:
    """Show a thread, which may yet have to begin, as a live page on this machine."""
    import asyncio

    from manus.configuration import read_settings

    return asyncio.run(_watch(thread, port, read_settings(), show=show))


async def _watch(meant: str, port: int, settings: Settings, *, show: bool) -> int:
    from manus.checkpoint import open_store
    from manus.threads import find_thread, read_thread
    from manus.watch import PageServer, pages

    async with open_store(settings) as store:
        thread = await find_thread(store, meant, or_new=True)
        server = PageServer(port)
        with server.running():
            if await read_thread(store, thread) is None:
                sys.stderr.write(
                    f"There is no thread {thread} in {store.place} yet; the page fills when "
                    "it begins.\n"
                )
            async for html in pages(store, thread):
                is_first = not server.shown[0]
                server.show(html)
                if is_first:
                    sys.stdout.write(f"{server.url}\n")
                    sys.stdout.flush()
                    sys.stderr.write("Ctrl-C ends it.\n")
                if is_first and show:
                    import webbrowser

                    webbrowser.open(server.url)
    return 0
