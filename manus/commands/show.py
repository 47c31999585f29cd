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


async def _show(thread_id: str, settings: Settings, *, full: bool, as_json: bool) -> int:
    from manus.checkpoint import open_store
    from manus.graph.outcome import outcome_of
    from manus.graphs import build
    from manus.history import as_data, as_text
    from manus.plan_history import histories_of, steps_as_text
    from manus.report import headline, how_to_go_on, print_json, print_output, why
    from manus.threads import config_of, get_thread

    async with open_store(settings) as store:
        thread = await get_thread(store, thread_id)
        # The profile makes no difference to reading, and a user's own one is not known here.
        graph = build(thread.kind, settings.profile, store.saver)
        snapshot = await graph.aget_state(config_of(thread_id))
        plan = snapshot.values.get("plan") or None
        steps = await histories_of(graph, snapshot) if plan else {}
    outcome = outcome_of(snapshot)
    history = snapshot.values.get("messages", [])
    if as_json:
        data = {**outcome.as_json(), "workspace": thread.workspace, "messages": as_data(history)}
        if plan:
            data["steps"] = {index: as_data(said) for index, said in steps.items()}
        print_json(data)
        return 0
    parts = [
        f"Thread {thread.thread_id}, {thread.status}, files in {thread.workspace or '(unknown)'}",
        as_text(history, full=full),
        *(["", steps_as_text(plan, steps, full=full)] if plan else []),
        "",
        f"{headline(outcome)}{why(outcome)}",
        how_to_go_on(outcome),
    ]
    print_output("\n".join(parts))
    return 0
