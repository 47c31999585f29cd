"""Start or resume a run at the terminal. Imports what is slow only when it is called."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from manus.runs.options import RunOptions
from manus.threads.thread_id import NEWEST

if TYPE_CHECKING:
    from manus.cli.run import Prepare
    from manus.config.settings import Settings
    from manus.runs.jobs import Job
    from manus.state.request import Request
    from manus.threads.base import Store


def resume_thread(args: RunOptions, thread: str) -> int:
    """Resume a thread; return the exit code."""
    from manus.cli.folder_trust import ask_for_file_trust
    from manus.cli.local_server import use_local_server
    from manus.cli.logs import set_up_logging
    from manus.cli.settings import read_settings

    settings = use_local_server(args, read_settings())
    ask_for_file_trust(replace(args, thread=thread or None, last=thread == NEWEST), settings)
    set_up_logging()

    async def prepare(store: Store, thread_id: str) -> Job:
        from manus.runs.jobs import create_resume_job

        return await create_resume_job(thread_id, args, settings, store)

    return _work(args, settings, prepare, thread)


def start_run(kind: str, args: RunOptions, request: Request, settings: Settings) -> int:
    """Work on a request; return the exit code."""
    from manus.cli.folder_trust import ask_for_file_trust, find_workspace
    from manus.cli.local_server import use_local_server
    from manus.cli.logs import set_up_logging
    from manus.graph.attachments import attach_files, build_input
    from manus.runs.configuration import check_model, select_main_endpoint

    settings = use_local_server(args, settings)
    folder = ask_for_file_trust(args, settings)
    request = attach_files(request, args.files, folder)
    set_up_logging()
    if settings.mcp:
        import asyncio

        from manus.tools.mcp.references import resolve_references

        workspace = find_workspace(args, settings)
        request = asyncio.run(resolve_references(request, settings, workspace))
    graph_input = build_input(request, args.images)
    _use_recording(settings, args)
    check_model(select_main_endpoint(settings, args.model))

    async def prepare(store: Store, thread_id: str) -> Job:
        from manus.runs.jobs import create_job

        return await create_job(kind, thread_id, request.text, graph_input, args, settings, store)

    return _work(args, settings, prepare, NEWEST if args.last else args.thread, or_new=True)


def _use_recording(settings: Settings, args: RunOptions) -> None:
    """Replay the recording of `--or-replay` if no model is configured."""
    from manus.cli.screen import Screen
    from manus.config.provider_table import DEFAULT_KEY
    from manus.models.providers import REPLAY, is_configured
    from manus.runs.configuration import select_main_endpoint

    if args.or_replay is None or is_configured(select_main_endpoint(settings, args.model)):
        return
    Screen(quiet=args.quiet).paragraph(
        f"No model is configured (set {DEFAULT_KEY}, or MANUS_MODEL and MANUS_BASE_URL): "
        f"playing the model's turns from {args.or_replay}."
    )
    args.model = f"{REPLAY}{args.or_replay}"


def _work(
    args: RunOptions,
    settings: Settings,
    prepare: Prepare,
    thread: str | None,
    *,
    or_new: bool = False,
) -> int:
    import asyncio

    from manus.cli import startup
    from manus.cli.logs import flush_traces
    from manus.cli.screen import Screen

    screen = Screen(quiet=args.quiet)
    with screen.starting():
        startup.load()
    from manus.cli.run import JobRunner

    with flush_traces():
        return asyncio.run(JobRunner(args, settings, screen).run(prepare, thread, or_new=or_new))
