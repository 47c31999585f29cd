"""What a run has used of its budget: checked before each model call, booked after it.

Calls that are under way side by side do not know of one another, so a limit is overspent by those
at most. The runs inside a run, such as the steps of a plan, have its budget and no other.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

from manus.config.context import Context
from manus.config.settings import Settings
from manus.models.providers import DEFAULT_MODEL
from manus.state.errors import BudgetError, UsageError
from manus.state.usage import (
    Budget,
    Spending,
    Usage,
    add_usage,
    budget_used_up,
    no_usage,
    with_spending,
)

meter: ContextVar[list[Spending] | None] = ContextVar("meter", default=None)
"""Where each model call puts a line; a node gives it a list of its own."""


class RunBudget:
    """The budget of one run at work, and of all that are at work inside it.

    What was used is read from the state of the outermost one as its nodes begin; what they and
    those inside use then is added as it is used.
    """

    def __init__(self, limits: Budget) -> None:
        self.limits = limits
        self.sync(no_usage())

    @property
    def used(self) -> Usage:
        """What has been used by now, the time since the last look at the state included."""
        seconds = self._used["seconds"] + time.monotonic() - self._since
        return {**self._used, "seconds": seconds}

    @property
    def seconds_left(self) -> float | None:
        """The time that is left; None where it is not limited."""
        limit = self.limits.seconds
        return None if limit is None else limit - self.used["seconds"]

    @property
    def over(self) -> str | None:
        """The limit that leaves no room for another model call, in words."""
        return budget_used_up(self.limits, self.used, for_good=True)

    def sync(self, usage: Usage) -> None:
        """What the outermost run has used, as its state says."""
        self._used = usage
        self._since = time.monotonic()

    def add(self, usage: Usage) -> None:
        """What a run inside has used; its time is that of the outermost one."""
        self._used = add_usage(self._used, {**usage, "seconds": 0.0})

    def book(self, line: Spending) -> None:
        """A call was made."""
        self._used = with_spending(self._used, [line])
        if (lines := meter.get()) is not None:
            lines.append(line)

    def check(self) -> None:
        """See that there is room for another model call.

        Raises:
            BudgetError: a limit is reached.
        """
        if over := self.over:
            raise BudgetError(over)


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
