"""What happened out of the ordinary course of a run, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from langchain_core.messages import BaseMessage

from manus.graph.outcome import question_of
from manus.run_report.facts import Notice
from manus.state.messages import text_of
from manus.text import count

_MEASURES = {
    "hint": "Stuck in a loop: the agent was given a hint",
    "refuse": "Still in the loop: the repeated call is refused",
    "ask": "Still in the loop: the last measure",
}


def loop_notice(circle: dict[str, Any], at: datetime) -> Notice:
    """A measure against a loop."""
    measure = str(circle.get("measure"))
    return Notice("loop", _MEASURES.get(measure, measure), str(circle.get("what", "")), at)


def compaction_notice(
    made: dict[str, Any],
    before: dict[str, Any] | None,
    written: Sequence[BaseMessage],
    at: datetime,
) -> Notice:
    """Older messages were replaced by notes."""
    evicted = made["evicted"] - (before["evicted"] if before else 0)
    title = f"The history was made shorter: {count(evicted, 'message')} replaced by notes"
    return Notice("compaction", title, "\n\n".join(map(text_of, written)), at)


def question_notices(writes: Iterable[Any], at: datetime) -> list[Notice]:
    """Questions that the run stopped for, of all writes to the channel of interrupts."""
    found: dict[str, Notice] = {}
    for write in writes:
        for asked in write if isinstance(write, list | tuple) else [write]:
            if hasattr(asked, "value"):
                text = question_of(asked)
                found[str(getattr(asked, "id", text))] = Notice(
                    "question", "The run waited for a person", text, at
                )
    return list(found.values())
