"""What a run may still spend on its model: asked before each call, told after it.

Purses form a tree as runs do: that of a plan's step has its share of the flow's. Nothing in them
has to be kept: what was spent is read from the state whenever a node begins, what was promised is
in the state of the flow, and a call that was under way when a process died is under way no more.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from manus.models.gate import Answer, Gate
from manus.nodes.turn.stop_conditions import shown_limit
from manus.state.agent import Usage, no_usage
from manus.state.budget import Budget
from manus.state.errors import BudgetError
from manus.state.ledger import Account, Ledger, amounts_of, as_budget
from manus.state.spending import Spending
from manus.state.usage import with_spending

if TYPE_CHECKING:
    from manus.models.reply_figures import Reply

KEPT = "summary"
"""Who has the promise that lets the summary of a flow be made."""
_LENT = ("tokens", "cost", "model_calls")
"""Kinds of which a step can have what its siblings do not need. Tool calls go by without asking."""
_WORDS = {"model_calls": "model calls", "tool_calls": "tool calls"}
_CALL = "call "
"""How the promise of a call under way is named, which is nobody's share."""
_OUTPUT = 300.0
"""Tokens that a reply is taken to have before there was one."""


class Purse:
    """The money of one run at work."""

    def __init__(self, budget: Budget) -> None:
        self.ledger = Ledger(budget.limits())
        self._budget = budget
        self._parent: Purse | None = None
        self._children: dict[str, Purse] = {}
        """Of those with a share whose state has been read: what they used is known."""
        self._gate = Gate()
        self._who = ""
        self._batch = 0
        self._numbers = itertools.count()
        self._replies = 0
        self._said = 0.0
        self._known = no_usage()
        self._lines: list[Spending] = []
        self._last_word: Mapping[str, float] = {}

    def keep(self, amounts: Mapping[str, float]) -> None:
        """Keep so much for the last word of the run: calls on the side leave it untouched."""
        self._last_word = amounts

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

    @property
    def used(self) -> Usage:
        """What the run has used: as its state said last, and every call since."""
        return with_spending(self._known, self._lines)

    def used_by(self, who: str) -> Usage | None:
        """What somebody at work on a share has used; None where that is not known here."""
        return self._children[who].used if who in self._children else None

    def sync(self, usage: Usage, lines: Iterable[Spending] = ()) -> None:
        """What the run has used, as its state says; nobody is at work on it now.

        `lines`: calls that were made before a crash, of which the state does not know.
        """
        self._known, self._lines = usage, list(lines)
        self.ledger = Ledger(self.ledger.limits, amounts_of(self.used))
        self._report()
        self._look()

    def recall(self, lines: Iterable[Spending]) -> None:
        """Calls that a task had made before a crash, which it is doing again."""
        found = list(lines)
        self._lines += found
        self.ledger.add(amounts_of(with_spending(no_usage(), found)))
        self._report()

    def record(self, line: Spending) -> None:
        """A call was made; its amounts are booked by the block that it was made in."""
        self._lines.append(line)

    def open(self, account: Account, batch: int) -> None:
        """The promises of a flow whose steps are at work, as its state says; once a batch.

        Of steps that had ended when the process died it is not known here what they used of
        their share; all of it is taken to be spent until the batch has ended.
        """
        if self._batch != batch:
            self.ledger, self._batch = Ledger.of(account), batch
            self._children.clear()

    def close(self, who: str, usage: Usage) -> None:
        """Somebody with a share is done: what it has left over is free for the others."""
        self._children.pop(who, None)
        self.ledger.commit(who, amounts_of(usage))
        self._look()

    def use(self, ledger: Ledger) -> None:
        """Go on with another ledger, which has what was spent and what is promised."""
        self.ledger = ledger

    def output_expected(self) -> float:
        """Tokens that the next reply may have: as many as the last ones on average."""
        return self._said / self._replies if self._replies else _OUTPUT

    @asynccontextmanager
    async def call(
        self,
        estimate: Mapping[str, float],
        most: Mapping[str, float] | None = None,
        *,
        on_the_side: bool = False,
    ) -> AsyncIterator[list[Reply]]:
        """Set aside what a call may use; the block adds its replies to the list.

        `estimate` is what it will need, `most` what it can use at most (without it: no more than
        that). Waits while other calls of the run and its steps are under way and all of them do
        not fit what is left even at their largest. A call `on_the_side`, of a tool or for notes,
        leaves what is kept for the last word of the run, and is not made where it does not fit.

        Raises:
            BudgetError: there is no room for it.
        """
        who, number = f"{_CALL}{next(self._numbers)}", 0
        wanted = {kind: amount for kind, amount in estimate.items() if self.limited(kind)}
        bound = {kind: max(amount, (most or {}).get(kind, 0.0)) for kind, amount in wanted.items()}

        def ask() -> Answer:
            nonlocal number
            kept = self._last_word if on_the_side else {}
            answer = self._may_go(wanted, kept) or self._root.has_room(bound, kept)
            if answer == "go":
                self.ledger.promised[who] = wanted
                number = self._root._gate.let_in(bound)
                self._report()
            return answer

        self._report()
        replies: list[Reply] = []
        try:
            await self._root._gate.pass_through(ask)
            yield replies
        finally:
            if number:
                self.ledger.commit(who, _used(replies))
                self._learn(replies)
                self._report()
                self._root._gate.leave(number)

    @property
    def _root(self) -> Purse:
        return self if self._parent is None else self._parent._root

    def _look(self) -> None:
        self._root._gate.look()

    def _learn(self, replies: list[Reply]) -> None:
        whole = [reply for reply in replies if reply.answered]
        self._replies += len(whole)
        self._said += sum(reply.output_tokens for reply in whole)

    def _may_go(self, wanted: Mapping[str, float], kept: Mapping[str, float]) -> Answer | None:
        """What its own share says to a call; None: that it can go. `kept` is not for it.

        Raises:
            BudgetError: there is no room for it, and there will be none.
        """
        self._take_what_is_free()
        needed = {kind: amount + kept.get(kind, 0.0) for kind, amount in wanted.items()}
        if all(amount <= self.ledger.free(kind) for kind, amount in needed.items()):
            return None
        unspent = {kind: self.ledger.unspent(kind) - kept.get(kind, 0.0) for kind in wanted}
        if self._calls_under_way() and all(left > 0 for left in unspent.values()):
            return "stand aside"
        if kept or not self._may_overdraw(wanted):
            raise BudgetError(self._missing(needed))
        return None

    def has_room(self, bound: Mapping[str, float], kept: Mapping[str, float]) -> Answer:
        """Whether a call can go beside those that are under way; it is asked of the root.

        What is `kept` is left untouched even if all of them are at their largest.

        Raises:
            BudgetError: nothing is left.
        """
        for kind in bound:
            if self._left(kind) <= 0:
                limit = self.ledger.limits[kind]
                raise BudgetError(shown_limit(_WORDS.get(kind, kind), self._spent(kind), limit))
        gate = self._gate
        fits = all(
            gate.largest(kind) + most + kept.get(kind, 0.0) <= self._left(kind)
            for kind, most in bound.items()
        )
        return "go" if gate.is_free or fits else "wait"

    def _left(self, kind: str) -> float:
        """What the calls under way, and those to come, can use in all.

        What is kept for the summary is not, nor is a share of which it is not known what is left.
        """
        left = self.ledger.unspent(kind)
        left -= sum(child.ledger.spent.get(kind, 0.0) for child in self._children.values())
        for who, share in self.ledger.promised.items():
            if who not in self._children and not who.startswith(_CALL):
                left -= share.get(kind, 0.0)
        return left

    def _spent(self, kind: str) -> float:
        of_children = (child.ledger.spent.get(kind, 0.0) for child in self._children.values())
        return self.ledger.spent.get(kind, 0.0) + sum(of_children)

    def _may_overdraw(self, wanted: Mapping[str, float]) -> bool:
        """Whether a call may use more than there is: the only one under way, while something is."""
        if self._calls_under_way() or any(self.ledger.free(kind) <= 0 for kind in wanted):
            return False
        return self._parent is None or self._parent.has_only(self._who)

    def _calls_under_way(self) -> bool:
        return any(who.startswith(_CALL) for who in self.ledger.promised)

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
        self._parent._children[self._who] = self
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
