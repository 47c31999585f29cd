"""Routers without a detour over a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from manus.state.watched import is_watched


class _Inline(Runnable[Any, Any]):
    def __init__(self, router: Callable[[Any], Any], name: str) -> None:
        self.name = name
        self._router = router

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """Where to go from this state."""
        return self._call_with_config(self._router, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """As `invoke`."""
        if not is_watched(config):
            return self._router(input)
        return await self._acall_with_config(self._route, input, config)

    async def _route(self, state: Any) -> Any:
        return self._router(state)


def inline(router: Callable[[Any], Any], name: str) -> Runnable[Any, Any]:
    """A plain router as a runnable of that name.

    LangGraph calls a plain function in a thread, since it might block; a router is done before the
    thread would have begun. Who traces a run sees it as any other step.
    """
    return _Inline(router, name)
