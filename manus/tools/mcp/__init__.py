"""Tools of MCP servers: connected when first needed, closed with the session.

This uses the protocol's own SDK rather than LangChain's adapter, which ties a connection to a
`with` block, so that it cannot reconnect during a run, and fails on a reply that contains audio.
The modules are imported when a server is needed.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cache
from importlib import import_module
from typing import Any

from manus.calls.catalog import Catalog
from manus.calls.session import Session
from manus.config.packages import import_optional
from manus.state.errors import SettingsError

log = logging.getLogger("manus")

_REMEDY = "install the extra `mcp` (`make setup EXTRAS=mcp`)"


async def load_mcp_tools(catalog: Catalog, session: Session) -> None:
    """Add or update the tools of the MCP servers in the catalog.

    The servers are connected the first time. A warning is logged for an unreachable one.
    """
    # in a thread, because importing the SDK is slow
    tools = await asyncio.to_thread(_import_tools)
    if tools is not None:
        await tools.update(catalog, session)


@cache
def find_fault() -> str | None:
    """Return why MCP cannot be used here, and what to do, as a sentence; None if it can. Blocking.

    The SDK may be missing, or be a version that has other names.
    """
    try:
        import_optional("manus.tools.mcp.tools", "MCP servers need", "mcp", _REMEDY)
    except SettingsError as error:
        return str(error)
    return None


@cache
def _import_tools() -> Any:
    """Import the module of the tools; log a warning once and return None if it cannot be used."""
    fault = find_fault()
    if fault is not None:
        log.warning("%s The run continues without them.", fault)
        return None
    return import_module("manus.tools.mcp.tools")
