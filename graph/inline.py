"""Routers without a detour over a thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any


def inline(router: Callable[[Any], Any], name: str) -> Callable[[Any], Coroutine[Any, Any, Any]]:
    """A plain router as a coroutine function of that name.

    LangGraph calls a plain function in a thread, since it might block; a router is done before the
    thread would have begun.
    """

    async def route(state: Any) -> Any:
        return router(state)

    route.__name__ = name
    return route
