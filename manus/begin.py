"""The beginning of a new run, of whichever graph."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from manus import startup
from manus.configuration import (
    check_model,
    check_workspace,
    main_model,
    read_context,
    read_settings,
)
from manus.logs import set_up_logging
from manus.models.model_names import REPLAY, is_configured
from manus.options import RunOptions
from manus.request import read_request
from manus.state.errors import UsageError
from manus.traces import sending_traces

if TYPE_CHECKING:
    from manus.state.settings import Settings


def begin(kind: str, args: RunOptions) -> int:
    """Work on a request until the run ends, waits for a person or is stopped; the exit code."""
    settings = read_settings()
    request = read_request(args.prompt)
    set_up_logging()
    _choose_recording(settings, args)
    check_model(main_model(settings, args.model))
    startup.load()
    with sending_traces():
        return asyncio.run(_begin(kind, args, settings, request))


def _choose_recording(settings: Settings, args: RunOptions) -> None:
    """Take the recording of `--or-replay` for the model, where none is configured."""
    if args.or_replay is None or is_configured(main_model(settings, args.model)):
        return
    from manus.screen import Screen

    Screen(quiet=args.quiet).paragraph(
        f"No model is configured (set OPENAI_API_KEY, or MANUS_MODEL and MANUS_BASE_URL): "
        f"playing the model's turns from {args.or_replay}."
    )
    args.model = f"{REPLAY}{args.or_replay}"


async def _begin(kind: str, args: RunOptions, settings: Settings, request: str) -> int:
    from manus.checkpoint import Store
    from manus.conduct import Conductor, Job
    from manus.graphs import build
    from manus.threads import read_thread

    thread_id = args.thread or secrets.token_hex(5)

    async def prepare(store: Store) -> Job:
        known = await read_thread(store, thread_id) if args.thread else None
        if known is not None and known.kind != kind:
            right = "flow" if known.kind == "flow" else "run"
            raise UsageError(
                f"The thread {thread_id} was begun by `manus {right}`, and goes on by "
                f"`manus {right} --thread {thread_id} …`."
            )
        profile = args.profile or (known and known.profile) or settings.profile
        context = read_context(args, **({"workspace": known.workspace} if known else {}))
        graph = build(kind, profile, store.saver)
        place = await asyncio.to_thread(check_workspace, settings, context)
        context = context.model_copy(update={"workspace": str(place)})
        given = {"request": request}
        return Job(thread_id, kind, profile, context, request, graph, given)

    return await Conductor(args, settings, thread_id).work(prepare)
