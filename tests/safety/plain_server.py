"""An MCP server in plain Python, which starts instantly: its tools are read from a JSON file.

`python plain_server.py FILE`, where the file maps names to descriptions. A description is sent
wherever a server can send text; a tool named `fail` always fails.
"""

import json
import sys
from pathlib import Path
from typing import Any

TOOLS: dict[str, str] = json.loads(Path(sys.argv[1]).read_text("utf-8"))


ANNOTATED = "read-only: "
"""Prefix of descriptions of tools that are annotated with `readOnlyHint`."""


def offered(name: str) -> dict[str, Any]:
    which = {"type": "string", "description": TOOLS[name]}
    schema = {"type": "object", "properties": {"which": which}}
    tool = {"name": name, "description": TOOLS[name], "inputSchema": schema}
    if TOOLS[name].startswith(ANNOTATED):
        tool["description"] = TOOLS[name].removeprefix(ANNOTATED)
        tool["annotations"] = {"readOnlyHint": True}
    return tool


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        about = {"name": "plain", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [offered(name) for name in TOOLS]}
    if method == "tools/call":
        text = f"{params['name']} {params.get('arguments')} {TOOLS[params['name']]}"
        return {"content": [{"type": "text", "text": text}], "isError": params["name"] == "fail"}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request and "method" in request:
        result = answer(request["method"], request.get("params") or {})
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
