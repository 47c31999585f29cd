"""`manus ui` and `manus watch`: threads as pages on this machine."""

from __future__ import annotations

import sys
from typing import Any

import click

from manus.options import PORT, RunOptions, thread_argument

_port = click.option(
    "--port", metavar="N", type=PORT, default=0, help="On 127.0.0.1 (default: any free one)."
)


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
    import asyncio

    from manus import startup
    from manus.configuration import read_settings
    from manus.logs import set_up_logging

    settings = read_settings()
    set_up_logging()
    startup.load()
    from manus.checkpoint import open_store
    from manus.threads import find_thread, read_thread
    from manus.ui.conversation import Conversation
    from manus.ui.server import serve

    async def talk() -> None:
        async with open_store(settings) as store:
            place = ""
            if watched is not None:
                thread = await find_thread(store, watched, or_new=True)
                place = f"t/{thread}/report"
                if await read_thread(store, thread) is None:
                    sys.stderr.write(
                        f"There is no thread {thread} in {store.place} yet; the page fills when "
                        "it begins.\n"
                    )
            conversation = Conversation(store, settings, RunOptions(**chosen))
            await serve(conversation, port, lambda address: _tell(f"{address}{place}", show=show))

    asyncio.run(talk())
    return 0


def _tell(address: str, *, show: bool) -> None:
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    sys.stderr.write("Ctrl-C ends it.\n")
    if show:
        import webbrowser

        webbrowser.open(address)
