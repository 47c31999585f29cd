"""A server at stdin and stdout that speaks only the protocol 2026-07-28."""

import json
import sys
from typing import Any

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/protocolVersion"
TOOL = {"name": "add", "inputSchema": {"type": "object", "properties": {"a": {}, "b": {}}}}


def reply(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request, or an error."""
    if (params.get("_meta") or {}).get(META) != VERSION:
        data = {"supported": [VERSION], "requested": params.get("protocolVersion", "")}
        return {"error": {"code": -32022, "message": "unsupported version", "data": data}}
    if method == "server/discover":
        return {"result": {"supportedVersions": [VERSION], "capabilities": {"tools": {}}}}
    if method == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if "b" not in params["arguments"]:
        question = {"method": "elicitation/create", "params": {"message": "And the other?"}}
        return {"result": {"resultType": "input_required", "inputRequests": {"b": question}}}
    total = params["arguments"]["a"] + params["arguments"]["b"]
    return {"result": {"content": [{"type": "text", "text": str(total)}]}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = reply(message["method"], message.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
        sys.stdout.flush()
