"""The table of solvers, one for each page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from benchmarks.miniwob.player import Player

Solver = Callable[[Player], Awaitable[object]]
SOLVERS: dict[str, Solver] = {}


def solves(*pages: str) -> Callable[[Solver], Solver]:
    """Register the decorated function as the solver of some pages."""

    def register(solver: Solver) -> Solver:
        SOLVERS.update(dict.fromkeys(pages, solver))
        return solver

    return register
