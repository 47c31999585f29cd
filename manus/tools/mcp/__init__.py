"""Tools of MCP servers: connected when first needed, closed with the session.

It stands on the protocol's own SDK rather than on LangChain's adapter, which ties a connection to a
block of code, so that it cannot be made again in mid-run, and gives up a whole reply over one sound
in it. The modules are imported when a server is needed.
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
    "MCP servers are configured, but the package for them is missing: install the extra `mcp` "
    "(`make setup EXTRAS=mcp`)."
)


async def load_mcp_tools(catalog: Catalog, session: Session) -> None:
    """Add, or bring up to date, the tools of the MCP servers.

    The servers are connected the first time. One that cannot be reached costs a line in the log.
    """
    # in a thread: the SDK takes a while to be read
    tools = await asyncio.to_thread(_tools)
    if tools is not None:
        await tools.update(catalog, session)


@cache
def _tools() -> Any:
    """The module that does it; None where the SDK is missing, which is said once."""
    if find_spec("mcp") is None:
        log.warning("%s The run goes on without them.", NOT_INSTALLED)
        return None
    return import_module("manus.tools.mcp.tools")
