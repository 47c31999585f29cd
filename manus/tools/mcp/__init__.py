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
from importlib.util import find_spec
from typing import Any

from manus.execution.catalog import Catalog
from manus.execution.session import Session

log = logging.getLogger("manus")

NOT_INSTALLED = (
    "MCP servers are configured, but their package is not installed: install the extra `mcp` "
    "(`make setup EXTRAS=mcp`)."
)


async def load_mcp_tools(catalog: Catalog, session: Session) -> None:
    """Add or update the tools of the MCP servers in the catalog.

    The servers are connected the first time. A warning is logged for an unreachable one.
    """
    # in a thread, because importing the SDK is slow
    tools = await asyncio.to_thread(_import_tools)
    if tools is not None:
        await tools.update(catalog, session)


@cache
def _import_tools() -> Any:
    """Import the module of the tools; log a warning once and return None if the SDK is missing."""
    if find_spec("mcp") is None:
        log.warning("%s The run continues without them.", NOT_INSTALLED)
        return None
    return import_module("manus.tools.mcp.tools")
