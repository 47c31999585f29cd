"""The account of one task: a line for each model call that it makes, whoever makes it.

A line is written to the journal as soon as the reply is there. When the process dies before the
task has written what came of it to the state, the task runs again under the same key, and finds
the lines of its first attempt: they were paid for. Where the run has a limit, the call that was
under way is among them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from langgraph.runtime import Runtime

from manus.models.purse import Purse
from manus.models.reply_figures import Reply
from manus.nodes.active_run import Running
from manus.state.agent import Usage, no_usage
from manus.state.spending import Spending
from manus.state.usage import with_spending
from manus.tools.journal import Journal


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

    def claim(self, reply: Reply) -> str:  # noqa: ARG002
        """Note a call that is about to be made, as what it is if nothing comes of it; its name.

        If the process dies before more is known of it, it counts as that.
        """
        return uuid.uuid4().hex[:12]

    def drop(self, claim: str) -> None:
        """Take a claim back: the call was refused, and is not paid for."""

    def count(self, reply: Reply, claim: str | None) -> None:  # noqa: ARG002
        """Count a call, in place of its claim."""
        line = self._line(reply)
        self.lines.append(line)
        self._purse.record(line)
        self._journal.spend(self._key, dict(line))

    def _line(self, reply: Reply) -> Spending:
        line = Spending(
            step=self._step,
            role=reply.role,
            by_tool=self._by_tool,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cached_tokens=reply.cached_tokens,
            model_calls=reply.calls,
        )
        if reply.cache_write_tokens:
            line["cache_write_tokens"] = reply.cache_write_tokens
        if reply.cost is not None:
            line["cost"] = reply.cost
        if reply.estimated:
            line["estimated"] = True
        return line

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


def count(reply: Reply, claim: str | None = None) -> None:
    """Count a call with the task that made it; outside of a run nothing is counted."""
    meter = _meter.get()
    if meter is not None:
        meter.count(reply, claim)


def claim(reply: Reply) -> str | None:
    """Note a call that is about to be made with the task that makes it."""
    meter = _meter.get()
    return meter.claim(reply) if meter is not None else None


def drop(name: str | None) -> None:
    """Take a claim back."""
    meter = _meter.get()
    if meter is not None and name is not None:
        meter.drop(name)


def by_tools(lines: Sequence[Spending], step: int) -> list[Spending]:
    """The calls that the tools of a step made: the last lines of the account."""
    found = []
    for line in reversed(lines):
        if line["step"] != step:
            break
        if line["by_tool"]:
            found.append(line)
    return found
