"""Whether the next request has room in the model's window, and making room if it has not."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage

from nodes.compact import Compacted, Compactor
from nodes.context_size import most, next_size
from nodes.request import to_request
from nodes.running import Running
from nodes.tokens import estimate_message, estimate_request
from nodes.windows import said_window
from state import tracing
from state.agent import Compaction, Run
from state.errors import ContextOverflowError, ToolError
from state.events import CompactionEvent
from tools.recall import NAME, Recall

log = logging.getLogger("manus")

_LEAST = 1_000
"""Tokens that a window is taken to have at least."""


async def make_room(
    running: Running,
    history: Sequence[AnyMessage],
    compaction: Compaction | None,
    run: Run,
    tell: Any,
    *,
    done: int,
    tight: bool = False,
) -> Compacted | None:
    """The history made shorter if the next request would be too large.

    None if it would not be, or if there is nothing to take out. `tight`: it was too large already.
    """
    compactor = Compactor(running, tell, history)
    if not tight and not _is_large(running, history, compaction, compactor):
        return None
    before = next_size(history, compaction, compactor.size)
    frame = to_request([], running.profile, run["workspace"], [])
    fixed = estimate_request(frame, running.catalog.schemas())
    made = await compactor.compact(
        history, compaction, run["request_id"], fixed=fixed, done=done, tight=tight
    )
    if made is None:
        return None
    offer_recall(running)
    told = CompactionEvent(
        type="compaction",
        evicted=made.compaction["evicted"] - (compaction["evicted"] if compaction else 0),
        before=max(round(before), made.compaction["size"]),
        size=made.compaction["size"],
        window=compactor.window,
    )
    tell(told)
    tracing.told(told, ("evicted", "before", "size", "window"))
    return made


def _is_large(
    running: Running,
    history: Sequence[AnyMessage],
    compaction: Compaction | None,
    compactor: Compactor,
) -> bool:
    limit = running.settings.context.compact_at * compactor.window
    if next_size(history, compaction, most) < limit:
        return False
    return next_size(history, compaction, compactor.size) >= limit


def offer_recall(running: Running) -> None:
    """Give the agent the tool that looks into the archive, once there is something in it."""
    if running.catalog.find(NAME) is None:
        running.catalog.add(Recall(session=running.session))


async def inherit_archive(running: Running, compaction: Compaction | None) -> None:
    """Let a thread that was forked under a new id find what had been taken out before."""
    if compaction is None or "archive" not in compaction:
        return
    source, evicted = Path(compaction["archive"]), compaction["evicted"]
    try:
        await asyncio.to_thread(running.session.archive.inherit, source, evicted)
    except (sqlite3.Error, OSError, ToolError):
        log.warning("the archive %s could not be taken over", source, exc_info=True)


def learn_window(
    running: Running, error: ContextOverflowError, request: Sequence[BaseMessage]
) -> None:
    """Remember how large a window is whose server refused a request.

    As the server named it, but never more than the estimate of a request that was too large; where
    it named none, half of that.
    """
    model = running.model_settings(running.profile.role).model or ""
    size = estimate_request(request, running.catalog.schemas())
    said = said_window(str(error))
    running.windows[model] = max(round(size / 2 if said is None else min(said, size)), _LEAST)


def too_large(
    running: Running, error: ContextOverflowError, request: Sequence[BaseMessage]
) -> ContextOverflowError:
    """The error of a request from which nothing more can be left out."""
    fixed = estimate_request(request[:1], running.catalog.schemas())
    said = sum(estimate_message(m) for m in request[1:-1] if isinstance(m, HumanMessage))
    rest = sum(estimate_message(m) for m in request[1:]) - said
    return ContextOverflowError(
        f"{str(error).rstrip('.')}. What is left of it cannot be made shorter: the system prompt "
        f"and the tools (about {fixed:,.0f} tokens), the user's messages (about {said:,.0f}) and "
        f"the last turns (about {rest:,.0f}); choose a model with a larger window, or fewer tools."
    )
