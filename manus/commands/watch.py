"""`manus watch`: a thread as a page that follows it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from manus.options import read_settings, thread_id

if TYPE_CHECKING:
    from manus.state.settings import Settings

SUMMARY = "Show a thread as a live page on this machine"
_LAST_PORT = 65_535


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The thread, and where the page is served."""
    parser.add_argument(
        "thread", metavar="THREAD", type=thread_id, help="the thread's id; it may yet have to begin"
    )
    parser.add_argument(
        "--port", metavar="N", type=port, default=0, help="on 127.0.0.1 (default: any free one)"
    )
    parser.add_argument("--open", action="store_true", help="show it in the browser")


def port(text: str) -> int:
    """The number of a port."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 1 to {_LAST_PORT}")
    return int(text)


def execute(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    import asyncio

    return asyncio.run(_watch(args, read_settings()))


async def _watch(args: argparse.Namespace, settings: Settings) -> int:
    from manus.checkpoint import open_store
    from manus.threads import read_thread
    from manus.watch.board import Board
    from manus.watch.follow import Follower
    from manus.watch.server import PageServer

    async with open_store(settings) as store:
        board = Board()
        follower = Follower(store, args.thread, board)
        await follower.look()
        with PageServer(board, args.port) as server:
            if await read_thread(store, args.thread) is None:
                sys.stderr.write(
                    f"There is no thread {args.thread} in {store.place} yet; the page fills when "
                    "it begins.\n"
                )
            sys.stdout.write(f"{server.url}\n")
            sys.stdout.flush()
            sys.stderr.write("Ctrl-C ends it.\n")
            if args.open:
                import webbrowser

                webbrowser.open(server.url)
            await follower.follow()
    return 0
