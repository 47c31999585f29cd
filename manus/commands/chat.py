"""`manus` alone, or `manus chat`: a conversation at the terminal."""

from __future__ import annotations

from typing import Any

import click

from manus.options import RunOptions, last_option, meant_thread, run_options, thread_id


@click.command()
@click.option("--thread", metavar="ID", type=thread_id, help="Go on with a thread.")
@last_option
@run_options
def chat(thread: str | None, last: bool, **chosen: Any) -> int:
    """Talk with the agent, request after request (`manus` alone does it too)."""
    from manus.conversation import Conversation
    from manus.questions import someone_is_there
    from manus.state.errors import UsageError

    if not someone_is_there():
        raise UsageError("A conversation needs a terminal; `manus run` takes a request from stdin.")
    meant = meant_thread(thread, last=last) if thread or last else None
    return Conversation(RunOptions(**chosen, chat=True)).talk(meant)
