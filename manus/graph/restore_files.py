"""Restore the files of the workspace for a run from an earlier checkpoint, on request."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from manus.graph.saver_threads import with_usable_saver
from manus.nodes.active_run import ActiveRun
from manus.state.events import FilesEvent
from manus.threads.records.select import CHECKPOINTER
from manus.threads.snapshots.restored_text import describe_effects, describe_files
from manus.threads.snapshots.rewinding import RestoredFiles

if TYPE_CHECKING:
    from manus.graph.run_graph import RunGraph

log = logging.getLogger("manus")


async def restore_files(
    graph: RunGraph[Any], active_run: ActiveRun, configurable: dict[str, Any]
) -> None:
    """Restore the files as of a configuration's checkpoint, and let the first node report it.

    Without a checkpoint, or in a nested run, nothing is done.

    Raises:
        StorageError: the snapshots cannot be used.
        UsageError: the workspace does not exist.
    """
    if not configurable.get("checkpoint_id") or active_run.is_inside:
        return
    config = with_usable_saver({"configurable": configurable}, graph.checkpointer)
    state = await graph.aget_state(config)
    if state.metadata is None:  # the checkpoint does not exist, which the run itself reports
        return
    files = active_run.session.files
    restored = RestoredFiles(has_files=False)
    if files is not None:
        snapshot = str(state.values.get("snapshot") or "")
        restored = await files.restore(active_run.session.workspace, snapshot)
    effects = await _list_effects(graph, configurable)
    text = " ".join([*describe_files(restored), *describe_effects(effects)])
    if restored.failed or effects or not restored.has_files:
        log.warning("%s", text)
    active_run.files_event = FilesEvent(
        type="files",
        text=text,
        restored=restored.restored,
        kept=restored.kept,
        in_doubt=restored.in_doubt,
        failed=restored.failed,
        outside_effects=[str(effect) for effect in effects],
        is_recorded=restored.has_files,
    )


async def _list_effects(graph: RunGraph[Any], configurable: dict[str, Any]) -> Sequence[object]:
    """Return the lasting effects of the calls since the checkpoint, if the store knows them."""
    saver = configurable.get(CHECKPOINTER) or graph.checkpointer
    list_outside_effects = getattr(saver, "list_outside_effects", None)
    if list_outside_effects is None:
        return ()
    thread_id, checkpoint_id = configurable["thread_id"], configurable["checkpoint_id"]
    effects: Sequence[object] = await list_outside_effects(str(thread_id), str(checkpoint_id))
    return effects
