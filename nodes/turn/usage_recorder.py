"""The account of one task: a line for each model call that it makes, whoever makes it.

A line is written to the journal as soon as the reply is there. When the process dies before the
task has written what came of it to the state, the task runs again under the same key, and finds
the lines of its first attempt: they were paid for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from langgraph.runtime import Runtime

from manus.models.replies import counting
from manus.nodes.active_run import Running
from manus.state.usage import Spending, Usage, no_usage, with_spending


@contextmanager
def metered(running: Running, runtime: Runtime[Any], step: int = 0) -> Iterator[list[Spending]]:
    """Count the model calls that are made in the block, by whatever is called in it.

    A line for each; those of an attempt that broke off stand there from the beginning.
    """
    info, journal = runtime.execution_info, running.session.journal
    key = info.task_id if info is not None else ""
    lines = [cast(Spending, line) for line in journal.spent(key)]

    def count(used: Spending) -> None:
        used["step"] = step
        lines.append(used)
        running.budget.record(used)
        journal.spend(key, dict(used))

    with counting(count):
        yield lines


def used_in(lines: list[Spending], running: Running) -> Usage:
    """What a flow's task has used: its calls, and the time since the last one."""
    return {**with_spending(no_usage(), lines), "seconds": running.session.lap()}
