"""The beginning of a new run, of whichever graph."""

from __future__ import annotations

import argparse
import secrets
from typing import TYPE_CHECKING

from manus.logs import set_up_logging
from manus.options import read_context, read_settings
from manus.request import read_request
from manus.traces import sending_traces

if TYPE_CHECKING:
    from state.context import Context
    from state.settings import Settings


def begin(kind: str, args: argparse.Namespace) -> int:
    """Work on a request until the run ends, waits for a person or is stopped; the exit code."""
    import asyncio

    settings = read_settings()
    request = read_request(args.prompt)
    set_up_logging()
    with sending_traces():
        return asyncio.run(_begin(kind, args, settings, request))


async def _begin(kind: str, args: argparse.Namespace, settings: Settings, request: str) -> int:
    import asyncio

    from manus.checkpoint import Store
    from manus.conduct import Conductor, Job
    from manus.graphs import build
    from manus.preflight import check_model, check_workspace
    from manus.threads import read_thread

    thread_id = args.thread or secrets.token_hex(5)

    async def prepare(store: Store) -> Job:
        known = await read_thread(store, thread_id) if args.thread else None
        profile = args.profile or (known and known.profile) or settings.profile
        context = read_context(args, **({"workspace": known.workspace} if known else {}))
        graph = build(kind, profile, store.saver)
        context = _with_replay(args, settings, context)
        check_model(settings, context)
        place = await asyncio.to_thread(check_workspace, settings, context)
        context = context.model_copy(update={"workspace": str(place)})
        given = {"request": request}
        return Job(thread_id, kind, profile, context, request, graph, given)

    return await Conductor(args, settings, thread_id).work(prepare)


def _with_replay(args: argparse.Namespace, settings: Settings, context: Context) -> Context:
    """The context with the recording of `--or-replay`, where no model is configured."""
    from manus.preflight import main_model
    from manus.screen import Screen
    from nodes.model_names import is_configured

    if args.or_replay is None or is_configured(main_model(settings, context)):
        return context
    Screen(quiet=args.quiet).paragraph(
        f"No model is configured (set OPENAI_API_KEY, or MANUS_MODEL and MANUS_BASE_URL): "
        f"playing the model's turns from {args.or_replay}."
    )
    return context.model_copy(update={"model": f"replay:{args.or_replay}"})
