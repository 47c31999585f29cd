"""The budget of a run: checked before each model call, updated after it.

Concurrent calls do not see one another's usage, so a limit can be exceeded by those calls at most.
Runs inside a run, such as the steps of a plan, share its budget.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

from manus.config.run_settings import RunSettings
from manus.models.providers import DEFAULT_MODEL, select_endpoint
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

usage_ledger: ContextVar[list[Spending] | None] = ContextVar("usage_ledger", default=None)
"""The list to which each model call appends its usage; each node sets a list of its own."""


class RunBudget:
    """The budget of one active run, shared with all runs inside it.

    Each node of the outermost run syncs it with the usage in the state when it starts; model calls
    and inner runs then add what they use.
    """

    def __init__(self, limits: Budget) -> None:
        self.limits = limits
        self.sync(no_usage())

    @property
    def used(self) -> Usage:
        """Return the usage so far, including the time since the last sync with the state."""
        seconds = self._used["seconds"] + time.monotonic() - self._since
        return {**self._used, "seconds": seconds}

    @property
    def seconds_left(self) -> float | None:
        """Return the remaining seconds; None if time is not limited."""
        if self.limits.seconds is None:
            return None
        return self.limits.seconds - self.used["seconds"]

    @property
    def over(self) -> str | None:
        """Return, in words, the limit that forbids another model call; None if there is none."""
        return budget_used_up(self.limits, self.used, for_good=True)

    def sync(self, usage: Usage) -> None:
        """Replace the usage by that in the state of the outermost run."""
        self._used = usage
        self._since = time.monotonic()

    def add(self, usage: Usage) -> None:
        """Add the usage of an inner run, except its seconds: the outermost run counts those."""
        self._used = add_usage(self._used, {**usage, "seconds": 0.0})

    def book(self, spending: Spending) -> None:
        """Add the usage of one model call, also to the ledger of the current node."""
        self._used = with_spending(self._used, [spending])
        ledger = usage_ledger.get()
        if ledger is not None:
            ledger.append(spending)

    def check(self) -> None:
        """Raise an error if the budget leaves no room for another model call.

        Raises:
            BudgetError: a limit is reached.
        """
        limit = self.over
        if limit:
            raise BudgetError(limit)


def check_prices(settings: RunSettings) -> None:
    """Raise an error if cost is limited and a model that may be called has no price.

    Raises:
        UsageError: there is no price for a model.
    """
    if settings.budget.cost is None:
        return
    for role in (settings.profile.role, *settings.settings_source.roles):
        for endpoint in select_endpoint(settings, role).with_fallbacks():
            model = endpoint.model or DEFAULT_MODEL
            if settings.settings_source.find_price(model) is None:
                raise UsageError(
                    f"The cost cannot be limited, because there is no price of `{model}`: add "
                    f'[prices."{model}"] to manus.toml, or limit tokens instead.'
                )
