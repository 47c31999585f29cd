"""Keep the histories of the threads that were last run, so that the next run reads only new writes.

The ancestors of a checkpoint never change, so a history is found by the id of its checkpoint,
whoever has continued the thread since.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory

_MAX_THREADS = 8
_MAX_CHECKPOINTS = 200
"""New checkpoints up to which reading them one by one is faster than reading the whole thread."""

Histories = dict[str, DeltaChannelHistory]
Read = Callable[[RunnableConfig], CheckpointTuple | None]


class _Known(NamedTuple):
    """The history of a thread up to a checkpoint."""

    checkpoint_id: str
    histories: Histories
    copies: list[tuple[Any, Any]]
    """Each value, and a copy of all that its readers could change in it."""


class RecentHistories:
    """Histories of the threads that were last run with a store.

    Their messages are the same objects in each run, so that what was computed for a message need
    not be computed again. A history that somebody has changed in memory is read again.
    """

    def __init__(self) -> None:
        self._threads: dict[tuple[str, str], _Known] = {}

    def read(
        self,
        config: RunnableConfig,
        channels: Sequence[str],
        read_checkpoint: Read,
        read_all: Callable[[], Mapping[str, DeltaChannelHistory]],
    ) -> Histories:
        """Return the history of the checkpoint that the configuration names."""
        configurable = config["configurable"]
        key = (str(configurable["thread_id"]), str(configurable.get("checkpoint_ns", "")))
        # another run that reads it at the same time finds none
        known = self._threads.pop(key, None)
        histories: Histories = {}
        copies: dict[int, Any] = {}
        if known is not None and all(_fields(value) == before for value, before in known.copies):
            histories = _continue(known, config, channels, read_checkpoint)
            copies = {id(value): before for value, before in known.copies}
        histories = histories or {**read_all()}
        values = [(v, copies.get(id(v)) or copy.deepcopy(_fields(v))) for v in _values(histories)]
        self._threads[key] = _Known(str(configurable["checkpoint_id"]), histories, values)
        if len(self._threads) > _MAX_THREADS:
            self._threads.pop(next(iter(self._threads)), None)
        return histories


def _values(histories: Histories) -> Iterator[Any]:
    """Yield the values of all writes, and the full copies that precede them."""
    for history in histories.values():
        yield history.get("seed")
        for write in history["writes"]:
            yield write[2]


def _fields(value: Any) -> Any:
    """Return a value in a form that is fast to compare: messages as their fields."""
    if isinstance(value, BaseMessage):
        return vars(value)
    return [*map(_fields, value)] if isinstance(value, list | tuple) else value


def _continue(
    known: _Known, config: RunnableConfig, channels: Sequence[str], read_checkpoint: Read
) -> Histories:
    """Return the histories of a later checkpoint; empty if it is not one, or much later."""
    chain: list[CheckpointTuple] = []
    for _ in range(_MAX_CHECKPOINTS):
        checkpoint = read_checkpoint(config)
        if checkpoint is None:
            break
        chain.append(checkpoint)
        if checkpoint.checkpoint["id"] == known.checkpoint_id:
            return {name: _extend(known, chain[:0:-1], name) for name in channels}
        if checkpoint.parent_config is None:
            break
        config = checkpoint.parent_config
    return {}


def _extend(known: _Known, newer: list[CheckpointTuple], channel: str) -> DeltaChannelHistory:
    """Return the history of a channel with the writes of newer checkpoints, the oldest first."""
    history = known.histories.get(channel, DeltaChannelHistory(writes=[]))
    for checkpoint in newer:
        writes = [write for write in checkpoint.pending_writes or () if write[1] == channel]
        values = checkpoint.checkpoint["channel_values"]
        if channel in values:  # a full copy: what came before it is no longer needed
            history = {"seed": values[channel], "writes": writes}
        elif writes:
            history = {**history, "writes": [*history["writes"], *writes]}
    return history
