"""What a run has used of its budget: checked before each model call, booked after it.

Calls that are under way side by side do not know of one another, so a limit is overspent by those
at most. The steps of a plan at work draw on the budget of their flow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from manus.models.providers import DEFAULT_MODEL
from manus.state.context import Context
from manus.state.errors import BudgetError, UsageError
from manus.state.settings import Settings
from manus.state.usage import (
    Budget,
    Spending,
    Usage,
    add_usage,
    budget_used_up,
    limits_of,
    no_usage,
    with_spending,
)

Count = Callable[[Spending], None]
_count: ContextVar[Count | None] = ContextVar("count", default=None)


@contextmanager
def counting(count: Count) -> Iterator[None]:
    """Have `count` told of each call that is made in the block, by whoever is called in it."""
    token = _count.set(count)
    try:
        yield
    finally:
        _count.reset(token)


def book(used: Spending) -> None:
    """Count a call with whoever made it; outside of a run nothing is counted."""
    if (known := _count.get()) is not None:
        known(used)


class RunBudget:
    """The budget of one run at work. What was used is read from the state as a node begins.

    Attributes:
        used: What the run itself has used: as its state said last, and every call since.
    """

    def __init__(self, own: Budget, parent: RunBudget | None = None, name: str = "") -> None:
        """`name`: which of its parent's plan steps it is."""
        self.used = no_usage()
        self._own = own
        self._parent = parent
        self._children: dict[str, RunBudget] = {}
        if parent is not None:
            parent._children[name] = self

    @property
    def total(self) -> Usage:
        """What the run and the plan steps that it has at work have used."""
        total = self.used
        for child in self._children.values():
            total = add_usage(total, child.total)
        return total

    @property
    def limits(self) -> Budget:
        """The limits that hold now: of a plan step, what the rest of its flow has left over."""
        if self._parent is None:
            return self._own
        limits = self._parent.limits
        mine = {kind: used for kind, used, _ in limits_of(limits, self.used)}
        left = {
            kind.replace(" ", "_"): limit - (used - mine[kind])
            for kind, used, limit in limits_of(limits, self._parent.total)
        }
        return self._own.over(limits.model_copy(update={**left, "seconds": None}))

    def used_by(self, name: str) -> Usage | None:
        """What a plan step at work has used; None where none of that name is."""
        child = self._children.get(name)
        return None if child is None else child.total

    def sync(self, usage: Usage) -> None:
        """What the run has used, as its state says; none of its plan steps is at work."""
        self.used = usage
        self._children.clear()

    def record(self, line: Spending) -> None:
        """A call was made."""
        self.used = with_spending(self.used, [line])

    def check(self) -> None:
        """See that there is room for another model call.

        Raises:
            BudgetError: a limit is reached.
        """
        if over := budget_used_up(self._own, self.total, for_good=True):
            raise BudgetError(over)
        if self._parent is not None:
            self._parent.check()


def check_prices(settings: Settings, context: Context, role: str) -> None:
    """See that there are prices, where cost is limited.

    Raises:
        UsageError: the price of a model that may be asked is not known.
    """
    if context.budget.over(settings.budget).cost is None:
        return
    own = settings.for_role(role)
    first = own if role in settings.roles else own.at(context.model, context.base_url)
    for chosen in (first, *map(settings.for_role, settings.roles)):
        for endpoint in chosen.with_fallbacks():
            model = endpoint.model or DEFAULT_MODEL
            if settings.price_of(model) is None:
                raise UsageError(
                    f"A limit of cost cannot be held, because there is no price of `{model}`: add "
                    f'[prices."{model}"] to manus.toml, or limit tokens instead.'
                )
