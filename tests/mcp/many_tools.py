"""A real MCP server over stdio with many tools: `python many_tools.py COUNT`."""

import sys
from importlib import import_module
from typing import Any

from pydantic import BaseModel, Field

SDK: Any = import_module("mcp.server")
Server = SDK.FastMCP if hasattr(SDK, "FastMCP") else SDK.MCPServer
mcp = Server("many")


class Address(BaseModel):
    """Where a parcel goes."""

    street: str
    zip_code: str = Field(description="Postal code")
    country: str = "DE"


def make_tool(number: int) -> None:
    def ship(count: int, to: Address, note: str = "") -> str:
        return f"depot {number}: {count} to {to.street}, {to.zip_code}, {to.country}{note}"

    about = f"Ship parcels from depot {number:02}. The parcels leave on the same day, by road."
    mcp.add_tool(ship, name=f"ship_{number:02}", description=about)


for number in range(int(sys.argv[1])):
    make_tool(number)
mcp.run()
