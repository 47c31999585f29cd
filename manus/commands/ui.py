"""`manus ui`: threads as a page in which one also talks to the agent."""

from __future__ import annotations

import sys
from typing import Any

import click

from manus.options import PORT, RunOptions


@click.command()
@click.option(
    "--port", metavar="N", type=PORT, default=0, help="On 127.0.0.1 (default: any free one)."
)
@click.option("--workspace", metavar="DIR", help="For new threads (default as of `run`).")
@click.option("--profile", metavar="NAME", help="For new threads.")
@click.option("--model", metavar="PROVIDER:NAME", help="The model.")
@click.option("--no-open", is_flag=True, help="Do not show it in the browser.")
def ui(port: int, no_open: bool, **chosen: Any) -> int:
    """Talk to the agent on a page on this machine."""
    import asyncio

    from manus import startup
    from manus.configuration import read_settings
    from manus.logs import set_up_logging

    settings = read_settings()
    set_up_logging()
    startup.load()
    from manus.checkpoint import open_store
    from manus.ui.conversation import Conversation
    from manus.ui.server import serve

    def began(address: str) -> None:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        sys.stderr.write("Ctrl-C ends it.\n")
        if not no_open:
            import webbrowser

            webbrowser.open(address)

    async def talk() -> None:
        async with open_store(settings) as store:
            await serve(Conversation(store, settings, RunOptions(**chosen)), port, began)

    asyncio.run(talk())
    return 0
