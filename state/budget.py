"""A budget that several work from at once: reserved, committed as used, the rest given back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Amounts = Mapping[str, float]


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

    def free(self, kind: str) -> float:
        """What can still be promised of a kind."""
        if kind not in self.limits:
            return float("inf")
        open_ = sum(share.get(kind, 0.0) for share in self.promised.values())
        return max(0.0, self.limits[kind] - self.spent.get(kind, 0.0) - open_)

    def reserve(self, who: str, wanted: Amounts) -> bool:
        """Promise amounts to somebody; False, and nothing is promised, if one is not there."""
        if who in self.promised:
            raise ValueError(f"{who} has a promise already; commit or refund it first.")
        if any(amount > self.free(kind) for kind, amount in wanted.items()):
            return False
        self.promised[who] = dict(wanted)
        return True

    def share(self, who: str, parts: int, kinds: Amounts) -> dict[str, float]:
        """Promise somebody its part of what is free, of the kinds that are limited."""
        promised = {kind: self.free(kind) / parts for kind in kinds if kind in self.limits}
        self.reserve(who, promised)
        return promised

    def commit(self, who: str, used: Amounts) -> None:
        """Somebody is done and has used so much; what was promised beyond that is free again."""
        self.promised.pop(who, None)
        for kind, amount in used.items():
            self.spent[kind] = self.spent.get(kind, 0.0) + amount

    def refund(self, who: str) -> None:
        """Somebody has not begun: all of its promise is free again."""
        self.promised.pop(who, None)
