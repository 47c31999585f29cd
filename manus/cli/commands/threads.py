"""`manus threads` and `show`: list, print and delete threads."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from manus.cli.notes import print_note
from manus.cli.options import COUNT, parse_age, thread_argument, thread_id

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.graph.outcome import Outcome
    from manus.runs.maintenance import MaintenanceReport
    from manus.state.errors import StorageError
    from manus.threads.base import Store
    from manus.threads.thread_list import Thread


@click.command()
@click.option(
    "--limit", metavar="N", type=COUNT, default=20, help="Number of threads. [default: 20]"
)
@click.option(
    "--delete",
    metavar="ID",
    type=thread_id,
    multiple=True,
    help="Delete this thread with its records and snapshots; the workspace stays.",
)
@click.option(
    "--rename", metavar="ID TITLE", type=(thread_id, str), help="Give this thread another title."
)
@click.option(
    "--cancel",
    metavar="ID",
    type=thread_id,
    multiple=True,
    help="Remove this thread's runs from the queue, and stop an active one.",
)
@click.option(
    "--prune",
    metavar="AGE",
    type=parse_age,
    help="Delete threads unused for e.g. 30d (also m, h, w), except those with a question.",
)
@click.option("--compact", is_flag=True, help="Keep only the newest state of ended threads.")
@click.option("--dry-run", is_flag=True, help="Only list what --prune or --compact would change.")
@click.option("--json", is_flag=True, help="Print a JSON array on stdout.")
def threads(
    limit: int,
    delete: tuple[str, ...],
    rename: tuple[str, str] | None,
    cancel: tuple[str, ...],
    prune: timedelta | None,
    compact: bool,
    dry_run: bool,
    json: bool,
) -> int:
    """List, rename, delete, prune or compact threads.

    A compacted thread keeps its conversation and can be continued, but its earlier steps are no
    longer available to `history` and `rewind`.
    """
    from manus.cli.queued_threads import cancel_runs
    from manus.cli.settings import read_settings, with_store

    if bool(delete) + (prune is not None) + compact > 1:
        raise click.UsageError("Use only one of --delete, --prune and --compact.")
    if dry_run and prune is None and not compact:
        raise click.UsageError("--dry-run needs --prune or --compact.")
    settings = read_settings()
    if cancel:
        cancel_runs(settings, cancel)
    if rename is not None:
        thread, title = rename
        with_store(lambda store: _rename(store, thread, title), settings)
    if delete:
        with_store(lambda store: _delete(store, delete), settings)
    elif prune is not None:
        age = prune
        with_store(lambda store: _prune(store, age, dry_run=dry_run), settings)
    elif compact:
        with_store(lambda store: _compact(store, dry_run=dry_run), settings)
    elif not (cancel or rename):
        with_store(lambda store: _list(store, settings, limit, as_json=json), settings)
    return 0


async def _list(store: Store, settings: Settings, limit: int, *, as_json: bool) -> None:
    from manus.cli.output import print_json
    from manus.cli.queued_threads import with_queue
    from manus.threads.sizes import measure_threads
    from manus.threads.thread_list import read_threads

    threads = []
    async for name, stored in read_threads(store, await store.recent(limit)):
        if (thread := await _complete(store, name, stored)) is not None:
            threads.append(thread)
    threads = await with_queue(threads, store, settings, limit)
    sizes = await measure_threads(store, threads)
    if as_json:
        print_json([{**thread.as_json(), "bytes": sizes[thread.thread_id]} for thread in threads])
    elif threads:
        _print_table(threads, sizes)
    else:
        print_note(f"There are no threads yet in {store.location}.")


async def _complete(
    store: Store, thread_id: str, thread: Thread | StorageError | None
) -> Thread | None:
    """Return a thread with the process that works on it."""
    from manus.state.errors import StorageError
    from manus.threads.thread_list import add_worker, describe_damaged

    if isinstance(thread, StorageError):  # a damaged thread must not hide the others
        print_note(
            f"The thread {thread_id} is damaged: `manus threads --delete` removes it. {thread}"
        )
        return await describe_damaged(store, thread_id)
    return None if thread is None else await add_worker(store, thread)


def _print_table(threads: list[Thread], sizes: Mapping[str, int]) -> None:
    """Print one line per thread, cut to the width of the terminal; uncut without a terminal."""
    from rich.cells import cell_len, set_cell_size

    from manus.cli.screen import build_console
    from manus.prompts.formatting import clean, fit, flat, size, span

    now = datetime.now(UTC)
    has_workers = any(t.worker for t in threads)
    rows: list[tuple[str, ...]] = []
    for t in threads:
        age = span(max((now - t.updated).total_seconds(), 0))
        used = size(sizes[t.thread_id])
        worker = [clean(t.worker or "")] if has_workers else []
        facts = (clean(t.thread_id), t.status, str(t.steps), used, age)
        rows.append((*facts, *worker, flat(t.request)))
    head = ["THREAD", "STATUS", "STEPS", "SIZE", "AGE", "REQUEST"]
    if has_workers:
        head.insert(-1, "WORKER")
    rows.insert(0, (*head,))
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(map(set_cell_size, row, widths)).rstrip()
        if sys.stdout.isatty():
            line = fit(line, build_console(sys.stdout).width)
        sys.stdout.write(f"{line}\n")


async def _delete(store: Store, ids: Sequence[str]) -> None:
    from manus.threads.deletion import delete_thread
    from manus.threads.outputs import KeptOutputs
    from manus.threads.thread_list import find_thread

    kept = KeptOutputs(store)
    for found_id in [await find_thread(store, prefix) for prefix in ids]:
        async with store.hold(found_id):
            await delete_thread(store, found_id, kept)
        print_note(f"Deleted the thread {found_id}.")
    await store.reclaim_space()


async def _rename(store: Store, prefix: str, title: str) -> None:
    from manus.threads.thread_list import find_thread, rename_thread

    await rename_thread(store, await find_thread(store, prefix), title)


async def _prune(store: Store, age: timedelta, *, dry_run: bool) -> None:
    from manus.runs.maintenance import prune_threads

    report = await prune_threads(store, datetime.now(UTC) - age, dry_run=dry_run)
    if not dry_run:
        await store.reclaim_space()
    _print_report(report, "Would delete" if dry_run else "Deleted")


async def _compact(store: Store, *, dry_run: bool) -> None:
    from manus.runs.maintenance import compact_threads

    report = await compact_threads(store, dry_run=dry_run)
    if not dry_run:
        await store.reclaim_space()
    _print_report(report, "Would compact" if dry_run else "Compacted")


def _print_report(report: MaintenanceReport, verb: str) -> None:
    from manus.prompts.formatting import count, join_names, size

    names = f": {join_names(report.done)}" if report.done else ""
    freed = f" ({size(report.freed)})" if report.freed > 0 else ""
    print_note(f"{verb} {count(len(report.done), 'thread')}{freed}{names}.")
    kept = {
        "they wait for an answer": report.waiting,
        "they are in use": report.busy,
        "they cannot be read (`manus threads --delete` removes them)": report.damaged,
        "their last run has not ended, or they are not from manus": report.others,
    }
    for reason, ids in kept.items():
        if ids:
            print_note(f"Kept because {reason}: {join_names(ids)}.")


@click.command()
@thread_argument
@click.option("--full", is_flag=True, help="Print observations in full.")
@click.option("--json", is_flag=True, help="Print one JSON object on stdout.")
def show(thread: str, full: bool, json: bool) -> int:
    """Print the history of a thread."""
    from manus.cli.settings import with_store

    with_store(lambda store: _show(store, thread, full=full, as_json=json))
    return 0


async def _show(store: Store, prefix: str, *, full: bool, as_json: bool) -> None:
    from manus.cli.commands.run import format_unread
    from manus.cli.output import print_json, print_output
    from manus.pages.trace.formats import as_messages, as_text, steps_as_messages
    from manus.pages.trace.reading import read_trace
    from manus.runs.jobs import read_outcome
    from manus.runs.messages import read_unread
    from manus.threads.thread_list import get_thread

    thread = await get_thread(store, prefix)
    outcome = await read_outcome(store, thread)
    runs = await read_trace(store, thread.thread_id)
    if as_json:
        data = {**outcome.as_json(), "workspace": thread.workspace, "messages": as_messages(runs)}
        for run in runs:
            if run.kind == "flow" and run.plan:
                data |= {"plan": run.plan, "steps": steps_as_messages(run)}
        print_json(data)
        return
    location = f"files in {thread.workspace or '(unknown)'}"
    head = f"Thread {thread.thread_id}, {thread.status}, {location}"
    unread = [format_unread(message) for message in await read_unread(store, thread.thread_id)]
    if unread:
        unread = ["", "Unread messages:", *unread]
    lines = [head, as_text(runs, full=full), "", *_ending_lines(outcome), *unread]
    print_output("\n".join(lines))


def _ending_lines(outcome: Outcome) -> list[str]:
    """Return the lines after the history: state, open questions, how to resume."""
    from manus.cli.output import headline, resume_hint
    from manus.graph.outcome import format_question

    lines = [f"{headline(outcome)}."]
    if outcome.stop_reason == "error" and outcome.output:  # no message contains it
        lines = [f"{headline(outcome)}: {outcome.output}"]
    # in the order of `--answer`, which may differ from the order of the calls in a plan
    if len(outcome.questions) > 1:
        for number, question in enumerate(outcome.questions, 1):
            lines.append(f"{number}. {format_question(question)}")
    return [*lines, resume_hint(outcome)]
