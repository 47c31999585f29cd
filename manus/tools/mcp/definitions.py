"""Read the tools that a server offers, and pin them on first use.

An entry that is not valid is left out. A tool that has changed must be trusted again: a description
that was harmless when the server was configured may later be replaced by a prompt injection. The
pins are in the user's data folder, by the server's name: its tools with descriptions and schemas,
for each command or address that it has had.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from manus.config.files import read_record, write_record
from manus.config.mcp_settings import McpServer
from manus.tools.mcp.sdk import ProtocolError, Request

_MAX_PAGES = 100
"""Maximum number of pages of a tool list."""

log = logging.getLogger("manus")

_PENDING = "pending"
"""The key of changes that await the user's approval."""
_PINNED_FIELDS = {"title", "description", "input_schema", "annotations"}
"""The pinned fields of a tool. Records of older releases lack `annotations`."""


class ToolAnnotations(BaseModel):
    """What a server says about the effects of a tool."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class ToolDefinition(BaseModel):
    """A tool as a server defines it."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    name: str = Field(min_length=1)
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any]
    annotations: ToolAnnotations | None = None


READ_RESOURCE = ToolDefinition(
    name="read_resource",
    description="Read a resource of the server. Without `uri`, list its resources.",
    input_schema={"properties": {"uri": {"type": "string"}}},
)
"""The tool of a server that has resources; unlike their names, it needs no pin."""


async def list_tools(request: Request) -> list[Any]:
    """Return the entries of a server's tool list.

    Raises:
        ProtocolError: the server refuses, or its reply has no list.
    """
    return await _list(request, "tools/list", "tools")


async def list_resources(request: Request) -> list[Any]:
    """Return a server's resources, and the templates of others; empty if it refuses."""
    entries: list[Any] = []
    with suppress(ProtocolError):  # many servers have no templates
        entries += await _list(request, "resources/list", "resources")
        entries += await _list(request, "resources/templates/list", "resourceTemplates")
    return entries


async def list_prompts(request: Request) -> list[Any]:
    """Return a server's prompts; empty if it refuses."""
    with suppress(ProtocolError):
        return await _list(request, "prompts/list", "prompts")
    return []


async def _list(request: Request, method: str, field: str) -> list[Any]:
    """Return the entries of a list, of all its pages."""
    entries: list[Any] = []
    cursors: list[Any] = [None]
    while len(cursors) <= _MAX_PAGES:
        cursor = cursors[-1]
        page = await request(method, {"cursor": cursor} if cursor else {})
        part = page.get(field)
        if not isinstance(part, list):
            raise ProtocolError(0, f"its reply has no list of {field}")
        entries += part
        cursor = page.get("nextCursor")
        if not cursor or cursor in cursors:  # a server may send the same pages for ever
            break
        cursors.append(cursor)
    return entries


def read_definitions(entries: list[Any]) -> tuple[list[ToolDefinition], list[str]]:
    """Return the valid tools, the first of each name, and a description of each invalid one."""
    tools: dict[str, ToolDefinition] = {}
    problems: list[str] = []
    for number, entry in enumerate(entries, start=1):
        try:
            tool = ToolDefinition.model_validate(entry)
        except ValidationError as error:
            problems.append(_describe(entry, number, error))
            continue
        if tools.setdefault(tool.name, tool) != tool:
            problems.append(f"`{tool.name}` (listed again with another definition)")
    return list(tools.values()), problems


def _describe(entry: Any, number: int, error: ValidationError) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    reason = f"{where}: {first['msg']}" if where else first["msg"]
    return f"`{name}` ({reason})" if name and isinstance(name, str) else f"no. {number} ({reason})"


def select_trusted(
    name: str, server: McpServer, tools: list[ToolDefinition]
) -> list[ToolDefinition]:
    """Return the tools that match their pins, and log the names of the others. Blocking.

    All tools are pinned when the server is used for the first time.
    """
    fingerprint = _fingerprint(server)
    record = read_record(_record_name(name))
    offered = {}
    for tool in tools:
        fields = tool.model_dump(mode="json", by_alias=True, include=_PINNED_FIELDS)
        offered[tool.name] = fields
    is_first_use = not record
    pins: dict[str, Any] = offered if is_first_use else record.get(fingerprint, {})
    pinned = {}
    for tool_name, fields in pins.items():
        pinned[tool_name] = _complete(fields, offered.get(tool_name))
    changed = {}
    for tool_name, fields in offered.items():
        if pinned.get(tool_name) != fields:
            changed[tool_name] = fields
    if changed:
        _write(name, record, {**record, _PENDING: [fingerprint, changed]})
        reason = "has another program or address"
        if fingerprint in record:
            reason = "has changed"
        _warn(name, reason, changed, pinned)
    else:
        _write(name, record, {**record, fingerprint: pinned})
    return [tool for tool in tools if tool.name not in changed]


def _write(name: str, record: dict[str, Any], updated: dict[str, Any]) -> None:
    """Write the pins of a server if they differ from the record; log a warning if that fails."""
    if updated == record:
        return
    try:
        write_record(_record_name(name), updated)
    except OSError as error:
        log.warning("Cannot pin the tools of the MCP server `%s`: %s.", name, error)


def _warn(name: str, reason: str, changed: Iterable[str], pinned: Collection[str]) -> None:
    """Log which tools of a server cannot be called, and what to do."""
    descriptions = []
    for tool_name in changed:
        kind = "changed" if tool_name in pinned else "new"
        descriptions.append(f"`{tool_name}` ({kind})")
    log.warning(
        "The MCP server `%s` %s since it was first used, so %s cannot be called; "
        "run `manus trust --mcp %s` to accept the change.",
        name,
        reason,
        ", ".join(descriptions),
        name,
    )


def _complete(pinned: dict[str, Any], offered: dict[str, Any] | None) -> dict[str, Any]:
    """Return the pinned fields of a tool, with its current annotations if none were pinned."""
    if offered is None or "annotations" in pinned:
        return pinned
    return {**pinned, "annotations": offered["annotations"]}


def trust_changes(name: str) -> dict[str, dict[str, Any]]:
    """Trust the pending changes of a server; return the changed tools by name. Blocking."""
    record = read_record(_record_name(name))
    if _PENDING not in record:
        return {}
    fingerprint, changed = record.pop(_PENDING)
    pins = {**record.get(fingerprint, {}), **changed}
    write_record(_record_name(name), {**record, fingerprint: pins})
    return dict(changed)


def forget_tools(name: str) -> None:
    """Remove the pins of a server. Blocking."""
    write_record(_record_name(name), {})


def _fingerprint(server: McpServer) -> str:
    """Return a digest of how a server is reached; only the names of its variables count.

    It is a digest because arguments may contain secrets.
    """
    identity = [server.command, server.args, sorted(server.env), server.directory, server.url]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def _record_name(name: str) -> str:
    return f"mcp-{quote(name, safe='')}"
