"""The ledger of a budget that several work from at once: shares, and what came back of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# as in state/agent.py: for pydantic before Python 3.12
from typing_extensions import TypedDict

from manus.state.agent import Usage
from manus.state.usage import tokens_of

Amounts = Mapping[str, float]

_WHOLE = frozenset({"tokens", "tool_calls", "model_calls"})


def amounts_of(usage: Usage) -> dict[str, float]:
    """What was used, by kind of budget."""
    return {
        "tokens": tokens_of(usage),
        "cost": usage.get("cost", 0.0),
        "tool_calls": usage["tool_calls"],
        "model_calls": usage["model_calls"],
    }


class Account(TypedDict):
    """A ledger as it is kept in the state: from it the ledger is made again after a crash."""

    limits: dict[str, float]
    spent: dict[str, float]
    promised: dict[str, dict[str, float]]


@dataclass(slots=True)
class Ledger:
    """What there is of each kind, what is promised, and what is spent.

    Promises never exceed what there is, so that whoever keeps to what was promised to it never
    overspends the whole; only a call that was under way can use more than was promised for it.
    """

    limits: dict[str, float]
    """Kinds that are not named here are not limited."""
    spent: dict[str, float] = field(default_factory=dict)
    promised: dict[str, dict[str, float]] = field(default_factory=dict)
    used: dict[str, dict[str, float]] = field(default_factory=dict)
    """What those with a promise have used of it so far."""

    @classmethod
    def of(cls, account: Account) -> Ledger:
        """The ledger of an account."""
        promised = {who: dict(share) for who, share in account["promised"].items()}
        return cls(dict(account["limits"]), dict(account["spent"]), promised)

    def account(self) -> Account:
        """The ledger as it is kept in the state."""
        return Account(limits=self.limits, spent=self.spent, promised=self.promised)

    def free(self, kind: str) -> float:
        """What can still be promised of a kind."""
        if kind not in self.limits:
            return float("inf")
        open_ = sum(self._open(who, kind) for who in self.promised)
        return max(0.0, self.limits[kind] - self.spent.get(kind, 0.0) - open_)

    def unspent(self, kind: str) -> float:
        """What is not spent yet, promised or not; below zero if it is overspent."""
        return self.limits.get(kind, float("inf")) - self.spent.get(kind, 0.0)

    def _open(self, who: str, kind: str) -> float:
        promised = self.promised[who].get(kind, 0.0)
        return max(promised, self.used.get(who, {}).get(kind, 0.0))

    def limit_of(self, who: str, kind: str) -> float:
        """What somebody may use in all: its promise, and whatever nobody else was promised."""
        return self._open(who, kind) + self.free(kind)

    def reserve(self, who: str, wanted: Amounts) -> bool:
        """Promise amounts to somebody; False, and nothing is promised, if one is not there."""
        if who in self.promised:
            raise ValueError(f"{who} has a promise already; commit or refund it first.")
        if any(amount > self.free(kind) for kind, amount in wanted.items()):
            return False
        self.promised[who] = dict(wanted)
        return True

    def share(self, who: str, parts: int) -> dict[str, float]:
        """Promise somebody its part of what is free, of each kind that is limited."""
        promised = {kind: self.free(kind) / parts for kind in self.limits}
        promised = {k: float(int(v)) if k in _WHOLE else v for k, v in promised.items()}
        self.reserve(who, promised)
        return promised

    def note(self, who: str, used: Amounts) -> None:
        """Somebody with a promise has used so much so far."""
        if who in self.promised:
            self.used[who] = dict(used)

    def commit(self, who: str, used: Amounts) -> None:
        """Somebody is done and has used so much; what was promised beyond that is free again."""
        self.refund(who)
        self.add(used)

    def add(self, used: Amounts) -> None:
        """So much was spent, by nobody with a promise."""
        for kind, amount in used.items():
            self.spent[kind] = self.spent.get(kind, 0.0) + amount

    def refund(self, who: str) -> None:
        """Somebody has not begun: all of its promise is free again."""
        self.promised.pop(who, None)
        self.used.pop(who, None)


def as_budget(amounts: Amounts, seconds: float | None = None) -> dict[str, Any]:
    """Amounts as the fields of a `Budget`, which knows no limit of nothing."""
    given: dict[str, Any] = {k: int(v) if k in _WHOLE else v for k, v in amounts.items()}
    least = {"tokens": 1, "model_calls": 1, "cost": 1e-9, "tool_calls": 0}
    fields = {kind: max(amount, least[kind]) for kind, amount in given.items()}
    return fields if seconds is None else {**fields, "seconds": max(seconds, 0.001)}
