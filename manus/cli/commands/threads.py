"""`manus threads` and `show`: what has been worked on, its history, and deleting of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from manus.cli.options import COUNT, thread_argument, thread_id

if TYPE_CHECKING:
    from manus.store.base import Store
    from manus.store.threads import Thread


@click.command()
@click.option("--limit", metavar="N", type=COUNT, default=20, help="How many (20).")
@click.option(
    "--delete",
    metavar="ID",
    type=thread_id,
    multiple=True,
    help="Delete this thread with its journal and archive; what it did to files stays.",
)
@click.option("--json", is_flag=True, help="Print a JSON array on stdout.")
def threads(limit: int, delete: tuple[str, ...], json: bool) -> int:
    """List threads, the newest first, or delete some."""
    from manus.cli.settings import with_store

    if delete:
        with_store(lambda store: _delete(store, delete))
    else:
        with_store(lambda store: _list(store, limit, as_json=json))
    return 0


async def _list(store: Store, limit: int, *, as_json: bool) -> None:
    from manus.cli.output import print_json

    found = [t for i in await store.recent(limit) if (t := await _look_up(store, i))]
    if as_json:
        print_json([thread.as_json() for thread in found])
    elif found:
        _print_table(found)
    else:
        sys.stderr.write(f"There are no threads yet in {store.location}.\n")


async def _look_up(store: Store, found: str) -> Thread | None:
    from dataclasses import replace

    from manus.state.errors import StorageError
    from manus.store.threads import is_being_worked_on, read_thread

    try:
        thread = await read_thread(store, found)
    except StorageError as error:  # one that is damaged must not hide the others
        sys.stderr.write(f"The thread {found} is left out. {error}\n")
        return None
    if thread is None:
        return None
    if thread.status in ("unfinished", "waiting") and await is_being_worked_on(store, found):
        return replace(thread, status="running")
    return thread


def _print_table(threads: list[Thread]) -> None:
    """One line a thread; as wide as the terminal, and whole where there is none."""
    from rich.cells import cell_len, set_cell_size

    from manus.cli.screen import console_of
    from manus.prompts.formatting import clean, fit, flat, span

    now = datetime.now(UTC)
    rows: list[tuple[str, ...]] = [("THREAD", "STATUS", "STEPS", "AGE", "REQUEST")]
    for t in threads:
        age = span(max((now - t.updated).total_seconds(), 0))
        rows.append((clean(t.thread_id), t.status, str(t.steps), age, flat(t.request)))
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(map(set_cell_size, row, widths)).rstrip()
        if sys.stdout.isatty():
            line = fit(line, console_of(sys.stdout).width)
        sys.stdout.write(f"{line}\n")


async def _delete(store: Store, ids: Sequence[str]) -> None:
    from manus.store.threads import delete_thread_files, get_thread

    for thread in [await get_thread(store, given) for given in ids]:
        async with store.hold(thread.thread_id):
            # first, so that the command can be given again if it is stopped in between
            await delete_thread_files(store, thread)
            await store.adelete_thread(thread.thread_id)
        sys.stderr.write(f"The thread {thread.thread_id} is deleted.\n")


@click.command()
@thread_argument
@click.option("--full", is_flag=True, help="Observations in full.")
@click.option("--json", is_flag=True, help="Print one JSON object on stdout.")
def show(thread: str, full: bool, json: bool) -> int:
    """Show the history of a thread."""
    from manus.cli.settings import with_store

    with_store(lambda store: _show(store, thread, full=full, as_json=json))
    return 0


async def _show(store: Store, meant: str, *, full: bool, as_json: bool) -> None:
    from manus.cli.output import headline, how_to_go_on, print_json, print_output
    from manus.graph.outcome import question_of
    from manus.pages.trace.as_text import as_messages, as_text, steps_as_messages
    from manus.pages.trace.reading import read_trace
    from manus.runs.jobs import read_outcome
    from manus.store.threads import get_thread

    thread = await get_thread(store, meant)
    outcome = await read_outcome(store, thread)
    runs = await read_trace(store, thread.thread_id)
    if as_json:
        data = {**outcome.as_json(), "workspace": thread.workspace, "messages": as_messages(runs)}
        flow = next((run for run in reversed(runs) if run.kind == "flow" and run.plan), None)
        if flow is not None:
            data |= {"plan": flow.plan, "steps": steps_as_messages(flow)}
        print_json(data)
        return
    # in the order of `--answer`, which for a step of a plan need not be that of its calls
    several = outcome.questions if len(outcome.questions) > 1 else ()
    has_failed = outcome.stop_reason == "error" and outcome.output  # it is in no message
    parts = [
        f"Thread {thread.thread_id}, {thread.status}, files in {thread.workspace or '(unknown)'}",
        as_text(runs, full=full),
        "",
        f"{headline(outcome)}: {outcome.output}" if has_failed else f"{headline(outcome)}.",
        *(f"{number}. {question_of(one)}" for number, one in enumerate(several, 1)),
        how_to_go_on(outcome),
    ]
    print_output("\n".join(parts))
