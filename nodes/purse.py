"""What a run may still spend on its model: asked before each call, told after it.

Purses form a tree as runs do: that of a plan's step has its share of the flow's. Nothing in them
has to be kept: what was spent is read from the state whenever a node begins, what was promised is
in the state of the flow, and a call that was under way when a process died is under way no more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nodes.ending import shown_limit
from state.agent import Usage
from state.budget import Budget
from state.errors import BudgetError
from state.ledger import Account, Ledger, amounts_of, as_budget

if TYPE_CHECKING:
    from nodes.reply_figures import Reply

KEPT = "summary"
"""Who has the promise that lets the summary of a flow be made."""
_LENT = ("tokens", "cost", "model_calls")
"""Kinds of which a step can have what its siblings do not need. Tool calls go by without asking."""
_WORDS = {"model_calls": "model calls", "tool_calls": "tool calls"}
_OUTPUT = 300.0
"""Tokens that a reply is taken to have before there was one."""


class Purse:
    """The money of one run at work."""

    def __init__(self, budget: Budget) -> None:
        self.ledger = Ledger(budget.limits())
        self._budget = budget
        self._parent: Purse | None = None
        self._who = ""
        self._batch = 0
        self._numbers = itertools.count()
        self._replies = 0
        self._said = 0.0

    def draw_on(self, parent: Purse, who: str) -> None:
        """Be the purse of somebody who has a share of another one."""
        self._parent, self._who = parent, who

    @property
    def budget(self) -> Budget:
        """The limits as they are now: the run's own, and what its siblings have left over."""
        self._take_what_is_free()
        limits = self.ledger.limits
        now = {kind: limits[kind] for kind in _LENT if kind in limits}
        return self._budget.model_copy(update=as_budget(now))

    @property
    def is_limited(self) -> bool:
        """Whether anything that a call needs has a limit, and so has to be estimated before it."""
        return bool(self.ledger.limits)

    def limited(self, *kinds: str) -> bool:
        """Whether one of these kinds has a limit."""
        return any(kind in self.ledger.limits for kind in kinds)

    def sync(self, usage: Usage) -> None:
        """What the run has used, as its state says; nobody is at work on it now."""
        self.ledger = Ledger(self.ledger.limits, amounts_of(usage))
        self._report()

    def open(self, account: Account, batch: int) -> None:
        """The promises of a flow whose steps are at work, as its state says; once a batch.

        Of steps that had ended when the process died it is not known here what they used of
        their share; all of it is taken to be spent until the batch has ended.
        """
        if self._batch != batch:
            self.ledger, self._batch = Ledger.of(account), batch

    def close(self, who: str, usage: Usage) -> None:
        """Somebody with a share is done: what it has left over is free for the others."""
        if who in self.ledger.promised:
            self.ledger.commit(who, amounts_of(usage))

    def use(self, ledger: Ledger) -> None:
        """Go on with another ledger, which has what was spent and what is promised."""
        self.ledger = ledger

    def output_expected(self) -> float:
        """Tokens that the next reply may have: as many as the last ones on average."""
        return self._said / self._replies if self._replies else _OUTPUT

    @contextmanager
    def call(self, estimate: Mapping[str, float]) -> Iterator[list[Reply]]:
        """Set aside what a call may use; the block adds its replies to the list.

        Raises:
            BudgetError: there is no room for it.
        """
        who = f"call {next(self._numbers)}"
        self._take_what_is_free()
        wanted = {kind: amount for kind, amount in estimate.items() if self.limited(kind)}
        if not self.ledger.reserve(who, wanted):
            if not self._may_overdraw(wanted):
                raise BudgetError(self._missing(wanted))
            self.ledger.promised[who] = wanted
        self._report()
        replies: list[Reply] = []
        try:
            yield replies
        finally:
            self.ledger.commit(who, _used(replies))
            self._replies += len(replies)
            self._said += sum(reply.output_tokens for reply in replies)
            self._report()

    def _may_overdraw(self, wanted: Mapping[str, float]) -> bool:
        """Whether a call may use more than there is: the only one under way, while something is."""
        if self._calls_under_way() or any(self.ledger.free(kind) <= 0 for kind in wanted):
            return False
        return self._parent is None or self._parent.has_only(self._who)

    def _calls_under_way(self) -> bool:
        return any(who.startswith("call ") for who in self.ledger.promised)

    def has_only(self, who: str) -> bool:
        """Whether nobody else has a share of this purse."""
        return not set(self.ledger.promised) - {who, KEPT}

    def _take_what_is_free(self) -> None:
        """A step's limits: its share, and what nobody else was promised."""
        if self._parent is None or self._who not in self._parent.ledger.promised:
            return
        for kind in _LENT:
            if self.limited(kind):
                self.ledger.limits[kind] = self._parent.ledger.limit_of(self._who, kind)

    def _report(self) -> None:
        if self._parent is None:
            return
        under_way = [self.ledger.spent, *self.ledger.promised.values()]
        kinds = self.ledger.limits
        used = {kind: sum(amounts.get(kind, 0.0) for amounts in under_way) for kind in kinds}
        self._parent.ledger.note(self._who, used)

    def _missing(self, wanted: Mapping[str, float]) -> str:
        kind = next(k for k, amount in wanted.items() if amount > self.ledger.free(k))
        spent, limit = self.ledger.spent.get(kind, 0.0), self.ledger.limits[kind]
        return shown_limit(_WORDS.get(kind, kind), spent, limit)


def _used(replies: list[Reply]) -> dict[str, float]:
    return {
        "tokens": sum(r.input_tokens + r.output_tokens for r in replies),
        "cost": sum(r.cost or 0.0 for r in replies),
        "model_calls": sum(r.calls for r in replies),
    }
