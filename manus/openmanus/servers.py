"""One server of an `mcp.json` as `[mcp.NAME]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from manus.openmanus import names
from manus.state.mcp_settings import McpServer

_TRANSPORTS = {
    "sse": "sse",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
}
_SAME = {
    "command": "command",
    "args": "args",
    "env": "env",
    "cwd": "directory",
    "url": "url",
    "headers": "headers",
}


def server_values(server: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Ours, and the settings that were left out, each with the reason.

    Nothing of ours, and one reason under an empty name, where the whole server does not fit.
    """
    if not isinstance(server, Mapping):
        return {}, {"": "it is not an object with settings"}
    values: dict[str, Any] = {}
    left: dict[str, str] = {}
    for name, value in server.items():
        if name in ("type", "transport"):
            kind = str(value).lower()
            if kind in _TRANSPORTS:
                values["transport"] = _TRANSPORTS[kind]
            elif kind != "stdio":
                left[name] = f"there is no transport {value} here, but stdio, sse and http"
        elif name == "disabled":
            values["enabled"] = not value
        elif name not in _SAME:
            left[name] = names.UNKNOWN
        elif value not in (None, "", [], {}):
            values[_SAME[name]] = value
    try:
        McpServer.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        said = first["msg"].removeprefix("Value error, ")
        return {}, {"": f"it does not fit: {f'`{name}`: ' if name else ''}{said}"}
    return values, left
