"""The usage ledger of a run: the amounts used, and their limits.

It counts model calls, tool calls, tokens, cost and time. The amounts are those of
`manus.state.usage`; nodes store their counts in the state, from which the ledger of a resumed run
continues.

Limits are checked before each model call. Concurrent calls do not see one another's usage, so a
limit can be exceeded by at most those calls.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextvars import ContextVar

from manus.config.provider_table import DEFAULT_MODEL
from manus.config.run_settings import RunSettings
from manus.models.prices import find_price
from manus.models.providers import select_endpoint
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

_entries: ContextVar[list[Spending] | None] = ContextVar("usage_entries", default=None)
"""The model calls of the current node or tool call."""


class UsageLedger:
    """Usage and limits of one run.

    A nested run, such as a step of a plan, has its own ledger for time, and counts everything else
    against the limits of the outermost run.

    Example:
        entries = ledger.start(state["usage"])
        await ask_model()  # each call books itself
        usage = ledger.count(entries, state["usage"])
    """

    def __init__(self, limits: Budget | None = None, outer: UsageLedger | None = None) -> None:
        """Create the ledger of a run with `limits`, or of one nested in the run of `outer`."""
        self._outermost: UsageLedger = self if outer is None else outer._outermost
        self.limits = limits or Budget()
        if outer is not None:
            self.limits = outer.limits
        self.is_limited = self.limits != Budget()
        self._used = no_usage()
        self._synced_at = time.monotonic()
        self._counted_at = time.monotonic()

    @property
    def used(self) -> Usage:
        """Return the usage of the outermost run, with the time since the last sync."""
        ledger = self._outermost
        seconds = ledger._used["seconds"] + time.monotonic() - ledger._synced_at
        return {**ledger._used, "seconds": seconds}

    @property
    def seconds_left(self) -> float | None:
        """Return the remaining seconds; None if time is not limited."""
        if self.limits.seconds is None:
            return None
        return self.limits.seconds - self.used["seconds"]

    @property
    def over(self) -> str | None:
        """Return a description of the limit that forbids another model call, or None."""
        if not self.is_limited:
            return None
        return budget_used_up(self.limits, self.used, only_final=True)

    def check(self) -> None:
        """Raise an error if the limits leave no room for another model call.

        Raises:
            BudgetError: a limit is reached.
        """
        limit = self.over
        if limit:
            raise BudgetError(limit)

    def sync(self, usage: Usage) -> None:
        """Replace the usage with that in the state; a nested run has already added its own."""
        if self._outermost is self:
            self._used = usage
            self._synced_at = time.monotonic()

    def restore(self, usage: Usage) -> None:
        """Count the stored usage of a run that is resumed."""
        if self._outermost is self:
            self.sync(usage)
        else:
            self.add({**usage, "seconds": 0.0})  # the outermost run counts the time

    def add(self, usage: Usage) -> None:
        """Add usage other than a model call's, or that of a nested run."""
        ledger = self._outermost
        ledger._used = add_usage(ledger._used, usage)

    def start(self, usage: Usage | None = None) -> list[Spending]:
        """Return the list that records the model calls of this node or tool call.

        A node passes the usage in its state.
        """
        entries: list[Spending] = []
        _entries.set(entries)
        if usage is not None:
            self.sync(usage)
        return entries

    def book(self, spending: Spending) -> None:
        """Add the usage of one model call, and record it for the current node."""
        ledger = self._outermost
        ledger._used = with_spending(ledger._used, [spending])
        entries = _entries.get()
        if entries is not None:
            entries.append(spending)

    def count(self, entries: Iterable[Spending], before: Usage | None = None) -> Usage:
        """Return the usage `before` plus the entries and the time since the last count."""
        usage = with_spending(before or no_usage(), entries)
        return {**usage, "seconds": usage["seconds"] + self.take_elapsed()}

    def take_elapsed(self) -> float:
        """Return the seconds since the last count, without the time that the run waited."""
        now = time.monotonic()
        elapsed = now - self._counted_at
        self._counted_at = now
        return elapsed


def check_prices(settings: RunSettings) -> None:
    """Raise an error if cost is limited and a model that may be called has no price.

    Raises:
        UsageError: a model has no price.
    """
    if settings.budget.cost is None:
        return
    for role in (settings.profile.role, *settings.settings_source.roles):
        for endpoint in select_endpoint(settings, role).with_fallbacks():
            if find_price(settings.settings_source, endpoint) is None:
                model = endpoint.model or DEFAULT_MODEL
                raise UsageError(
                    f"The cost cannot be limited because `{model}` has no price: add "
                    f'[prices."{model}"] to manus.toml, or limit tokens instead.'
                )
