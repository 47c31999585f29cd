"""Read the tools that a server offers, entry by entry: one that is not valid is left out."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from manus.tools.mcp.sdk import ProtocolError, Request

_MAX_PAGES = 100
"""Maximum number of pages of a tool list."""


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


async def list_tools(request: Request) -> list[Any]:
    """Return the entries of a server's tool list, of all its pages.

    Raises:
        ProtocolError: the server refuses, or its reply has no list.
    """
    entries: list[Any] = []
    cursors: list[Any] = [None]
    while len(cursors) <= _MAX_PAGES:
        cursor = cursors[-1]
        page = await request("tools/list", {"cursor": cursor} if cursor else {})
        tools = page.get("tools")
        if not isinstance(tools, list):
            raise ProtocolError(0, "its reply has no list of tools")
        entries += tools
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
