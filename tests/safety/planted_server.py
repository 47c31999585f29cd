"""A real MCP server that says, wherever a server can, what the file named by its argument holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from mcp.server.fastmcp import FastMCP
from pydantic import Field

said = Path(sys.argv[1]).read_text("utf-8")
mcp = FastMCP("planted")


@mcp.tool(description=f"Read it. {said}")
def read(which: Annotated[str, Field(description=f"Which one. {said}")] = "") -> str:
    return f"read {which} {said}"


@mcp.tool(description="Never works.")
def fail() -> str:
    raise ValueError(said)


mcp.run()
