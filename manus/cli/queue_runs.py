"""Queue runs for workers, instead of executing them here. Slow imports are in the functions."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from manus.runs.options import RunOptions
from manus.state.endings import QUEUED
from manus.threads.thread_id import NEWEST

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.state.request import Request
    from manus.threads.base import Store
    from manus.worker.queued_job import QueuedJob


def queue_runs(kind: str, args: RunOptions, settings: Settings) -> int:
    """Queue a request, or one for each line of it; print the ids of their threads."""
    import asyncio

    from manus.cli.questions import read_request, read_requests
    from manus.worker.queue import check_queue
    from manus.worker.queued_job import select_options

    if not args.queue:
        raise click.UsageError("--each-line needs --queue")
    if args.each_line and (args.thread or args.last):
        raise click.UsageError("--each-line starts a thread for each line; omit --thread")
    check_queue(settings)
    select_options(args)
    requests = read_requests(args.prompt) if args.each_line else [read_request(args.prompt)]
    runs = asyncio.run(_queue(kind, args, settings, requests))
    _report(args, runs)
    return 0


async def _queue(
    kind: str, args: RunOptions, settings: Settings, requests: list[Request]
) -> list[QueuedJob]:
    from manus.threads.open_store import open_store
    from manus.worker.queue import open_queue

    async with open_store(settings) as store, open_queue(settings) as queue:
        thread_id = await _select_thread(args, store, kind)
        runs = []
        for request in requests:
            run = _create_run(kind, args, settings, request, thread_id)
            runs.append(run)
        await queue.add(runs)
    return runs


async def _select_thread(args: RunOptions, store: Store, kind: str) -> str | None:
    """Return the id of the thread that the options name; None for a new one.

    An existing thread keeps its workspace.

    Raises:
        UsageError: it belongs to the other graph.
    """
    from manus.runs.jobs import check_kind
    from manus.threads.thread_list import find_thread, read_thread

    name = NEWEST if args.last else args.thread
    if name is None:
        return None
    thread_id = await find_thread(store, name, or_new=True)
    thread = await read_thread(store, thread_id)
    if thread is not None:
        check_kind(thread, kind)
        args.workspace = args.workspace or thread.workspace
    return thread_id


def _create_run(
    kind: str, args: RunOptions, settings: Settings, request: Request, thread_id: str | None
) -> QueuedJob:
    """Return a run for the queue. Its workspace is created, and its attachments are read, here."""
    from manus.cli.folder_trust import ask_for_file_trust
    from manus.config.context import Context
    from manus.graph.attachments import attach_files, build_input
    from manus.runs.configuration import check_workspace
    from manus.worker.queued_job import QueuedJob, select_options

    workspace = check_workspace(settings, Context(workspace=args.workspace))
    options = {**select_options(args), "workspace": os.path.realpath(workspace)}
    folder = ask_for_file_trust(replace(args, thread=None, last=False), settings)
    request = attach_files(request, args.files, folder)
    return QueuedJob(
        thread_id=thread_id or secrets.token_hex(5),
        kind=kind,
        request=request.text,
        graph_input=build_input(request, args.images),
        options=options,
    )


def _report(args: RunOptions, runs: list[QueuedJob]) -> None:
    from manus.cli.output import print_json, print_output
    from manus.cli.screen import Screen
    from manus.prompts.formatting import count

    for run in runs:
        if args.format != "text":
            print_json({"thread_id": run.thread_id, "status": QUEUED})
        else:
            print_output(run.thread_id)
    Screen(quiet=args.quiet).paragraph(
        f"Queued {count(len(runs), 'run')}. `manus worker` executes it, `manus threads` lists it."
        if len(runs) == 1
        else f"Queued {count(len(runs), 'run')}. `manus worker` executes them, `manus threads` "
        "lists them.",
        "dim",
    )
