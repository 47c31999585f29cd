"""The usage of steps that a rewind undoes, which still counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from manus.state.usage import NOTHING_USED, RoleUsage, Usage, add_usage, no_usage, sum_usage
from manus.threads.history import CONTINUES, ROOT, History, Superstep

TAKEN_BACK = "taken_back"
"""Metadata of the checkpoint that a rewind returns to: `run` and `later` as in `Spent`."""
_NUMBERS = ("input_tokens", "output_tokens", "cached_tokens", "model_calls", "cost")


class Spent(NamedTuple):
    """The usage of steps that are undone."""

    usage: Usage | None
    """The usage of the run to return to, with its later steps; None if nothing was used."""
    run: RoleUsage
    """Usage of later steps of that run, which counts against its budget."""
    later: RoleUsage
    """Usage of later runs."""

    @property
    def total(self) -> RoleUsage:
        """Return the sum."""
        return sum_usage(self.run, self.later)


NOTHING_SPENT = Spent(None, NOTHING_USED, NOTHING_USED)


def find_spent(history: History, checkpoint: str) -> Spent:
    """Return the usage since a checkpoint of the main graph."""
    supersteps = history.get(ROOT, [])
    ids = [superstep.id for superstep in supersteps]
    if checkpoint not in ids:
        return NOTHING_SPENT
    position = ids.index(checkpoint)
    target = supersteps[position]
    usages = _usage_by_run(supersteps, history)
    run = _run_id(target.values)
    if not run:  # the request has been received, and its run is undone as a whole
        later_ids = (_run_id(superstep.values) for superstep in supersteps[position:])
        run = next(filter(None, later_ids), "")
    runs_before = {_run_id(superstep.values) for superstep in supersteps[: position + 1]}
    later = [used for name, used in usages.items() if name not in {run, *runs_before}]
    for superstep in supersteps[position + 1 :]:
        later.append(superstep.metadata.get(TAKEN_BACK, {}).get("later", sum_usage()))
    usage = usages.get(run)
    return Spent(usage, _subtract(usage, target.values.get("usage")), sum_usage(*later))


def find_spent_elsewhere(history: History, target: Superstep) -> Spent:
    """Return the usage of a thread since it left a superstep.

    It is for the undo of a rewind, to a checkpoint that does not lead to the newest one. Steps of a
    plan that were in progress there continue, and add their usage themselves when they end.
    """
    usage = _usage_by_run(history.get(ROOT, []), history).get(_run_id(target.values))
    if usage is not None:
        usage = add_usage(usage, _negate(_add_unfinished(no_usage(), target, history)))
    return Spent(usage, _subtract(usage, target.values.get("usage")), sum_usage())


def _negate(usage: Usage) -> Usage:
    """Return the usage that, added to another one, subtracts this one."""
    roles = {}
    for role, used in usage.get("roles", {}).items():
        roles[role] = {name: -cast(int, amount) for name, amount in used.items()}
    numbers = {k: -cast(int, v) for k, v in usage.items() if k not in ("roles", "estimated")}
    return cast(Usage, {**numbers, "roles": roles})


def add_taken_back(metadata: Mapping[str, Any], spent: Spent) -> dict[str, RoleUsage]:
    """Return the metadata of a copied checkpoint, which may be a copy itself."""
    before = metadata.get(TAKEN_BACK, {})
    return {
        "run": sum_usage(before.get("run", NOTHING_USED), spent.run),
        "later": sum_usage(before.get("later", NOTHING_USED), spent.later),
    }


def _run_id(values: Mapping[str, Any]) -> str:
    return str((values.get("run") or {}).get("id") or "")


def _usage_by_run(supersteps: Sequence[Superstep], history: History) -> dict[str, Usage]:
    """Return the newest usage of each run, including usage that is not yet in the newest state."""
    usages: dict[str, Usage] = {}
    for superstep in supersteps:
        if superstep.values.get("usage"):
            usages[_run_id(superstep.values)] = superstep.values["usage"]
    if not supersteps:
        return usages
    newest = supersteps[-1]
    run = _run_id(newest.values)
    if run in usages:
        usages[run] = _add_unfinished(usages[run], newest, history)
    return usages


def _add_unfinished(usage: Usage, newest: Superstep, history: History) -> Usage:
    """Add the usage of a plan's steps that are not in the state of the flow yet."""
    if "executors" not in (newest.values.get("run") or {}):
        return usage
    finished = set()
    for task, channel, value in newest.writes:
        if channel == "usage":
            usage = add_usage(usage, value)
            finished.add(task)
    ids = {newest.id, *newest.metadata.get(CONTINUES, ())}
    for namespace, supersteps in history.items():
        outer, _, name = namespace.rpartition("|")
        parents = supersteps[-1].metadata.get("parents") or {}
        used = supersteps[-1].values.get("usage")
        is_new = namespace != ROOT and parents.get(outer) in ids
        if is_new and used and name.partition(":")[2] not in finished:
            usage = add_usage(usage, cast(Usage, {**used, "seconds": 0.0}))
    return usage


def _subtract(usage: Usage | None, part: Usage | None) -> RoleUsage:
    """Return the usage without a part of it; None means no usage."""
    difference: dict[str, Any] = {**NOTHING_USED}
    for name in _NUMBERS:
        if usage is not None and name in usage:
            amount = cast(Any, usage)[name] - cast(Any, part or {}).get(name, 0)
            difference[name] = max(amount, 0)
    return cast(RoleUsage, difference)
