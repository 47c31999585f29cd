"""`manus show`: the history of a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from manus.options import json_object, thread_argument

if TYPE_CHECKING:
    from manus.state.settings import Settings


@click.command()
@thread_argument
@click.option("--full", is_flag=True, help="Observations in full.")
@json_object
def show(thread: str, full: bool, json: bool) -> int:
    """Show the history of a thread."""
    import asyncio

    from manus.configuration import read_settings

    return asyncio.run(_show(thread, read_settings(), full=full, as_json=json))


async def _show(meant: str, settings: Settings, *, full: bool, as_json: bool) -> int:
    from manus.checkpoint import open_store
    from manus.graph.outcome import outcome_of
    from manus.graphs import build
    from manus.report import headline, how_to_go_on, print_json, print_output, why
    from manus.threads import config_of, get_thread
    from manus.trace.as_text import as_messages, as_text, steps_as_messages
    from manus.trace.reading import read_trace

    async with open_store(settings) as store:
        thread = await get_thread(store, meant)
        # The profile makes no difference to reading, and a user's own one is not known here.
        graph = build(thread.kind, settings.profile, store.saver)
        outcome = outcome_of(await graph.aget_state(config_of(thread.thread_id)))
        runs = await read_trace(store.saver, thread.thread_id)
    if as_json:
        data = {**outcome.as_json(), "workspace": thread.workspace, "messages": as_messages(runs)}
        flow = next((run for run in reversed(runs) if run.kind == "flow" and run.plan), None)
        if flow is not None:
            data |= {"plan": flow.plan, "steps": steps_as_messages(flow)}
        print_json(data)
        return 0
    parts = [
        f"Thread {thread.thread_id}, {thread.status}, files in {thread.workspace or '(unknown)'}",
        as_text(runs, full=full),
        "",
        f"{headline(outcome)}{why(outcome)}",
        how_to_go_on(outcome),
    ]
    print_output("\n".join(parts))
    return 0
