"""What a run used, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.types import Overwrite

from manus.models.server_usage import cache_tokens
from manus.run_report.facts import Point, Tokens
from manus.run_report.trail import Superstep


def of_message(message: AIMessage) -> Tokens | None:
    """The tokens of the call that gave a message; None where the server did not say."""
    used = message.usage_metadata
    if not used:
        return None
    cached, written = cache_tokens(used.get("input_token_details"))
    given, said = int(used["input_tokens"]), int(used["output_tokens"])
    return Tokens(given, said, cached, written=written)


def points_of(supersteps: Sequence[Superstep]) -> list[Point]:
    """What each superstep of an agent's run added to its usage, which is a running total."""
    points, before, run = [], _NOTHING, None
    for superstep in supersteps:
        if (now := superstep.last("run")) is not None and now["id"] != run:
            run, before = now["id"], _NOTHING
        usage = superstep.last("usage")
        usage = usage.value if isinstance(usage, Overwrite) else usage
        if usage is not None:
            points.append(_point(superstep, before, usage))
            before = usage
    return points


def own_points(supersteps: Sequence[Superstep]) -> list[Point]:
    """What planner and summary of a flow used: its writes are added up, those of steps left out."""
    points = []
    for superstep in supersteps:
        steps_ended = {task for task, name, v in superstep.writes if name == "plan" and _ended(v)}
        for task, name, value in superstep.writes:
            if name != "usage" or task in steps_ended:
                continue
            used = value.value if isinstance(value, Overwrite) else value
            points.append(_point(superstep, _NOTHING, used))
    return points


def total_of(points: Sequence[Point]) -> Tokens:
    """All points together."""
    costs = [p.tokens.cost for p in points if p.tokens.cost is not None]
    return Tokens(
        sum(p.tokens.input for p in points),
        sum(p.tokens.output for p in points),
        sum(p.tokens.cached for p in points),
        sum(costs) if costs else None,
        sum(p.tokens.written for p in points),
    )


_NOTHING: dict[str, Any] = {}


def _ended(change: Any) -> bool:
    return isinstance(change, dict) and "step" in change and "result" in change


def _point(superstep: Superstep, before: dict[str, Any], after: dict[str, Any]) -> Point:
    def more(name: str) -> Any:
        return max((after.get(name) or 0) - (before.get(name) or 0), 0)

    cost = more("cost") if after.get("cost") is not None else None
    given, said = more("input_tokens"), more("output_tokens")
    tokens = Tokens(given, said, more("cached_tokens"), cost, more("cache_write_tokens"))
    return Point(superstep.end, tokens, more("seconds"))
