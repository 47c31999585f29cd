"""What a catalogue gets only when a run needs it: the tools of MCP servers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from manus.state.errors import SettingsError
from manus.tools.catalog import Catalog, asks_for_mcp
from manus.tools.session import Session

log = logging.getLogger("manus")

NOT_INSTALLED = (
    "MCP servers are configured, but the package for them is missing: install the extra `mcp` "
    "(`make setup EXTRAS=mcp`)."
)
_WARNED = "mcp: not installed"


class _Nothing:
    async def close(self) -> None:
        """There is nothing to be closed."""


async def load_mcp_tools(catalog: Catalog, session: Session) -> None:
    """Add, or bring up to date, the tools of the MCP servers, for a profile that asks for them.

    The servers are connected the first time. One that cannot be reached costs a line in the log.
    """
    profile = session.profile
    if profile is None or not session.settings.mcp or not any(map(asks_for_mcp, profile.tools)):
        return
    if session.peek(_WARNED) is not None:
        return
    try:
        # in a thread: the SDK takes a while to be read
        update = await asyncio.to_thread(_load)
    except SettingsError as error:
        log.warning("%s The run goes on without them.", error)
        await session.obtain(_WARNED, _nothing)
        return
    await update(catalog, session)


async def _nothing() -> _Nothing:
    return _Nothing()


def _load() -> Callable[[Catalog, Session], Awaitable[Any]]:
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise SettingsError(NOT_INSTALLED) from None
    from manus.tools.mcp.servers import update

    return update
