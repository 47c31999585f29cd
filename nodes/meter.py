"""The account of one task: a line for each model call that it makes, whoever makes it.

A line is written to the journal as soon as the reply is there. When the process dies before the
task has written what came of it to the state, the task runs again under the same key, and finds
the lines of its first attempt: they were paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from langgraph.runtime import Runtime

from nodes.purse import Purse
from nodes.reply_figures import Reply
from nodes.running import Running
from state.agent import Usage, no_usage
from state.spending import Spending
from state.usage import with_spending
from tools.journal import Journal


class Meter:
    """Counts the model calls of one task.

    Attributes:
        lines: One for each call, those of an attempt that broke off included.
    """

    def __init__(
        self, journal: Journal, purse: Purse, key: str, step: int, *, by_tool: bool
    ) -> None:
        self._journal = journal
        self._purse = purse
        self._key = key
        self._step = step
        self._by_tool = by_tool
        self.lines = [cast(Spending, line) for line in journal.spent(key)]

    def count(self, reply: Reply) -> None:
        """Count a call."""
        line = Spending(
            step=self._step,
            role=reply.role,
            by_tool=self._by_tool,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cached_tokens=reply.cached_tokens,
            model_calls=reply.calls,
        )
        if reply.cost is not None:
            line["cost"] = reply.cost
        if reply.estimated:
            line["estimated"] = True
        self.lines.append(line)
        self._purse.record(line)
        self._journal.spend(self._key, dict(line))

    def usage(self, seconds: float = 0.0) -> Usage:
        """What the calls come to, and the time that the task took."""
        return {**with_spending(no_usage(), self.lines), "seconds": seconds}


_meter: ContextVar[Meter | None] = ContextVar("meter", default=None)
# One a task: the calls that tools make side by side each find that of their own task.


@contextmanager
def metered(
    running: Running, runtime: Runtime[Any], *, step: int = 0, by_tool: bool = False
) -> Iterator[Meter]:
    """Count the model calls that are made in the block, by whatever is called in it."""
    info = runtime.execution_info
    key = info.task_id if info is not None else ""
    meter = Meter(running.session.journal, running.purse, key, step, by_tool=by_tool)
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


def count(reply: Reply) -> None:
    """Count a call with the task that made it; outside of a run nothing is counted."""
    meter = _meter.get()
    if meter is not None:
        meter.count(reply)


def by_tools(lines: Sequence[Spending], step: int) -> list[Spending]:
    """The calls that the tools of a step made: the last lines of the account."""
    found = []
    for line in reversed(lines):
        if line["step"] != step:
            break
        if line["by_tool"]:
            found.append(line)
    return found
