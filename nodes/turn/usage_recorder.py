"""The account of one task: a line for each model call that it makes, whoever makes it.

A line is written to the journal as soon as the reply is there. When the process dies before the
task has written what came of it to the state, the task runs again under the same key, and finds
the lines of its first attempt: they were paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from langgraph.runtime import Runtime

from manus.models.budget import RunBudget
from manus.models.replies import Reply, counting
from manus.nodes.active_run import Running
from manus.state.agent import Usage, no_usage
from manus.state.spending import Spending
from manus.state.usage import with_spending
from manus.tools.journal import Journal


class Meter:
    """Counts the model calls of one task.

    Attributes:
        lines: One for each call, those of an attempt that broke off included.
        step: The step that they are made in.
    """

    def __init__(
        self, journal: Journal, budget: RunBudget, key: str, step: int, *, by_tool: bool
    ) -> None:
        self._journal = journal
        self._budget = budget
        self._key = key
        self.step = step
        self._by_tool = by_tool
        self.lines = [cast(Spending, line) for line in journal.spent(key)]

    def count(self, reply: Reply) -> None:
        """Count a call."""
        line = self._line(reply)
        self.lines.append(line)
        self._budget.record(line)
        self._journal.spend(self._key, dict(line))

    def _line(self, reply: Reply) -> Spending:
        line = Spending(
            step=self.step,
            role=reply.role,
            by_tool=self._by_tool,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cached_tokens=reply.cached_tokens,
            model_calls=1,
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


@contextmanager
def metered(
    running: Running, runtime: Runtime[Any], *, step: int = 0, by_tool: bool = False
) -> Iterator[Meter]:
    """Count the model calls that are made in the block, by whatever is called in it."""
    info = runtime.execution_info
    key = info.task_id if info is not None else ""
    meter = Meter(running.session.journal, running.budget, key, step, by_tool=by_tool)
    with counting(meter.count):
        yield meter


def by_tools(lines: Sequence[Spending], step: int) -> list[Spending]:
    """The calls that the tools of a step made: the last lines of the account."""
    found = []
    for line in reversed(lines):
        if line["step"] != step:
            break
        if line["by_tool"]:
            found.append(line)
    return found
