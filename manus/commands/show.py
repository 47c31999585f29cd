"""`manus show`: the history of a thread."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from manus.options import read_settings, thread_id

if TYPE_CHECKING:
    from manus.state.settings import Settings

SUMMARY = "Show the history of a thread"


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The thread, and how much of it."""
    parser.add_argument("thread", metavar="THREAD", type=thread_id, help="the thread's id")
    parser.add_argument("--full", action="store_true", help="observations in full")
    parser.add_argument("--json", action="store_true", help="a JSON object on stdout")


def execute(args: argparse.Namespace) -> int:
    """Print the history on stdout."""
    import asyncio

    return asyncio.run(_show(args, read_settings()))


async def _show(args: argparse.Namespace, settings: Settings) -> int:
    from manus.checkpoint import open_store
    from manus.graph.outcome import outcome_of
    from manus.graphs import build
    from manus.history import as_data, as_text
    from manus.plan_history import histories_of, steps_as_text
    from manus.report import headline, how_to_go_on, print_json, print_output, why
    from manus.threads import config_of, get_thread

    async with open_store(settings) as store:
        thread = await get_thread(store, args.thread)
        # The profile makes no difference to reading, and a user's own one is not known here.
        graph = build(thread.kind, settings.profile, store.saver)
        snapshot = await graph.aget_state(config_of(args.thread))
        plan = snapshot.values.get("plan") or None
        steps = await histories_of(graph, snapshot) if plan else {}
    outcome = outcome_of(snapshot)
    history = snapshot.values.get("messages", [])
    if args.json:
        data = {**outcome.as_json(), "workspace": thread.workspace, "messages": as_data(history)}
        if plan:
            data["steps"] = {index: as_data(said) for index, said in steps.items()}
        print_json(data)
        return 0
    parts = [
        f"Thread {thread.thread_id}, {thread.status}, files in {thread.workspace or '(unknown)'}",
        as_text(history, full=args.full),
        *(["", steps_as_text(plan, steps, full=args.full)] if plan else []),
        "",
        f"{headline(outcome)}{why(outcome)}",
        how_to_go_on(outcome),
    ]
    print_output("\n".join(parts))
    return 0
