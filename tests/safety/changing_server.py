"""A real MCP server that offers the tools which the JSON file named by its argument describes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("changing")


def answer(line: str = "") -> str:
    return f"heard {line}"


for name, description in json.loads(Path(sys.argv[1]).read_text("utf-8")).items():
    mcp.add_tool(answer, name=name, description=description)

mcp.run()
