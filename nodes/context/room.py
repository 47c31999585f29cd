"""Whether the next request has room in the model's window, and making room if it has not."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AnyMessage

from manus.nodes.active_run import Running
from manus.nodes.context.compact import Compacted, Compactor
from manus.nodes.context.context_size import most, next_size
from manus.nodes.context.space import Space
from manus.state.agent import Compaction, Run
from manus.state.errors import ToolError
from manus.state.events import CompactionEvent
from manus.tools.recall import NAME, Recall

log = logging.getLogger("manus")


async def make_room(
    running: Running,
    history: Sequence[AnyMessage],
    compaction: Compaction | None,
    run: Run,
    tell: Any,
    *,
    space: Space,
    done: int,
    tight: bool = False,
) -> Compacted | None:
    """The history made shorter if the next request would be too large.

    None if it would not be, or if there is nothing to take out. `tight`: it was too large already.
    """
    compactor = Compactor(running, tell, history, compaction, space)
    limit = _limit(running, compaction, space)
    if not tight and not _is_large(history, compaction, compactor, space.fixed, limit):
        return None
    before = next_size(history, compaction, compactor.size, space.fixed)
    made = await compactor.compact(run["request_id"], done=done, tight=tight)
    if made is None:
        return None
    offer_recall(running, made.compaction)
    told = CompactionEvent(
        type="compaction",
        evicted=made.compaction["evicted"] - (compaction["evicted"] if compaction else 0),
        before=max(round(before), made.compaction["size"]),
        size=made.compaction["size"],
        window=space.window,
    )
    tell(told)
    return made


def _limit(running: Running, compaction: Compaction | None, space: Space) -> float:
    """The size from which on the history is made shorter.

    Where the last time left hardly less than that, it grows by half of what is free first: else
    notes would be taken at each step.
    """
    limit = min(running.settings.context.compact_at * space.window, space.full)
    left = compaction["size"] if compaction is not None else 0
    return max(limit, (left + space.full) / 2)


def _is_large(
    history: Sequence[AnyMessage],
    compaction: Compaction | None,
    compactor: Compactor,
    fixed: float,
    limit: float,
) -> bool:
    if next_size(history, compaction, most, fixed) < limit:
        return False
    return next_size(history, compaction, compactor.size, fixed) >= limit


def offer_recall(running: Running, compaction: Compaction) -> None:
    """Give the agent the tool that looks into the archive, once there is something in it."""
    running.session.archive.see(compaction.get("parts"))
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
