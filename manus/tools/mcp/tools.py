"""The tools of all MCP servers of a session, in its catalog."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
import mimetypes
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import override

from manus.calls.base import AgentTool, Approval
from manus.calls.catalog import Catalog
from manus.calls.result import Image, Observation
from manus.calls.session import EVERYTHING, Resource, Session, get_sandbox
from manus.config.mcp_settings import McpServer
from manus.prompts.sources import framed, plain
from manus.state.errors import ToolError, ToolUnavailableError
from manus.tools.mcp.definitions import ToolDefinition
from manus.tools.mcp.server import ServerClient
from manus.workspace.safe_open import write_private
from manus.workspace.workspace import OBSERVATIONS, Workspace

MAX_NAME = 64
"""Maximum length of a tool name that providers accept."""
_MAX_DESCRIPTION = 4_000
_MAX_TOOLS = 15
"""Number of tools up to which a server's tools are offered with their schemas."""
_MAX_DEFINITIONS = 12_000
"""Characters of definitions up to which they are offered that way, about 3,000 tokens."""
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Image types that models accept; other images are stored as files."""


class McpTool(AgentTool):
    """A tool of an MCP server, which validates the arguments itself."""

    server: Any = Field(exclude=True, repr=False)
    definition: ToolDefinition = Field(exclude=True, repr=False)
    """The definition sent by the server."""
    logs_writes: ClassVar[bool] = False  # the server has its own access to files

    @override
    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        state = Resource(f"mcp/{self.server.name}", write=not self._only_reads(args))
        return frozenset({Resource(EVERYTHING, write=not self.read_only(args)), state})

    @override
    def read_only(self, args: dict[str, Any]) -> bool:
        return self.definition.name in self.server.settings.read_only

    @override
    def approval(self, args: dict[str, Any]) -> Approval:
        # the server's own `readOnlyHint` does not count: arguments may carry data to it
        is_trusted = self.server.settings.trust
        may_change = not (is_trusted or self.read_only(args))
        return Approval(
            f"the MCP server `{self.server.name}` may change something" if may_change else "",
            hosts=() if is_trusted or not args else (f"mcp_{self.server.name}",),
        )

    @override
    def acts_outside(self, args: dict[str, Any]) -> bool:
        return not self._only_reads(args)

    def _only_reads(self, args: dict[str, Any]) -> bool:
        hints = self.definition.annotations
        return self.read_only(args) or bool(hints and hints.read_only_hint)

    @override
    async def observe(self, *_: Any, **arguments: Any) -> Observation:
        try:
            result = await self.server.call(self.definition.name, arguments)
        except ToolError as error:
            error.source = self.server.source  # the message quotes the server
            raise
        observation = await to_observation(result, self.session.workspace)
        self.session.egress_guard.read(observation.text)
        return replace(observation, source=self.server.source)


async def update(catalog: Catalog, session: Session) -> list[ServerClient]:
    """Update the catalog with the servers' current tools; return the servers in order.

    Servers are connected the first time; an unreachable one is omitted, with a warning in the log.
    """
    enabled = {n: s for n, s in session.settings.mcp.items() if s.enabled}
    servers = [await _obtain(n, s, session) for n, s in enabled.items()]
    await asyncio.gather(*(server.refresh() for server in servers))
    for server in servers:
        existing = get_tools(server, catalog)
        if [tool.definition for tool in existing] != server.tools:
            for tool in existing:
                catalog.remove(tool.name)
            names = []
            for definition in server.tools:
                tool = _to_tool(definition, server, catalog, session)
                catalog.add(tool)
                names.append(tool.name)
            if is_on_demand(server):
                catalog.defer(names, session)
    return servers


def is_on_demand(server: ServerClient) -> bool:
    """Return whether requests only list the tools of a server."""
    if server.settings.on_demand is not None:
        return server.settings.on_demand
    sizes = [len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in server.tools]
    return len(sizes) > _MAX_TOOLS or sum(sizes) > _MAX_DEFINITIONS


async def _obtain(name: str, settings: McpServer, session: Session) -> ServerClient:
    async def create() -> ServerClient:
        if settings.confined:
            with suppress(ToolUnavailableError):  # reported on connection
                await get_sandbox(session)  # first, so that it is closed after the server
        return ServerClient(name, settings, session)

    return await session.obtain(f"mcp:{name}", create)


def get_tools(server: ServerClient, catalog: Catalog) -> list[McpTool]:
    """Return the tools of a server in a catalog."""
    return [tool for tool in catalog if isinstance(tool, McpTool) and tool.server is server]


def _to_tool(
    definition: ToolDefinition, server: ServerClient, catalog: Catalog, session: Session
) -> McpTool:
    description = describe(definition, server.name)
    schema = json.loads(plain(json.dumps(definition.input_schema, ensure_ascii=False)))
    schema.pop("$schema", None)
    return McpTool(
        name=tool_name(server.name, definition.name, lambda name: catalog.find(name) is not None),
        description=framed(description[:_MAX_DESCRIPTION], server.source),
        args_schema={"properties": {}, **schema, "type": "object"},
        session=session,
        origin=str(server.source),
        raw_description=description,
        server=server,
        definition=definition,
    )


def describe(definition: ToolDefinition, server: str) -> str:
    """Return a server's own description of its tool, or a title, or the name."""
    text = definition.description or definition.title
    return text or f"`{definition.name}` of the MCP server `{server}`."


def tool_name(server: str, tool: str, is_taken: Callable[[str], bool]) -> str:
    """Return the unique name `mcp_<server>_<tool>` of letters, digits, `_` and `-`.

    A name that is too long or taken is cut and gets a suffix from a hash of server and tool, so
    that it is the same in each run.
    """
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp_{server}_{tool}")
    if len(name) <= MAX_NAME and not is_taken(name):
        return name
    suffix = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{suffix}"


async def to_observation(result: dict[str, Any], workspace: Workspace) -> Observation:
    """Convert a reply to an observation; store content that is neither text nor an image."""
    texts: list[str] = []
    images: list[Image] = []
    content = result.get("content") or []
    for block in content if isinstance(content, list) else [content]:
        data = ""
        kind = ""
        match block:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "resource_link", "name": name, "uri": uri}:
                about = block.get("mimeType")
                media_type = f" ({about})" if about else ""
                texts.append(f"[resource {name}{media_type}: {uri}]")
            case {"type": "resource", "resource": {"uri": uri, "text": str(text)}}:
                texts.append(f"[resource {uri}]\n{text}")
            case {"type": "resource", "resource": {"blob": str(data)} as resource}:
                kind = str(resource.get("mimeType") or "application/octet-stream")
            case {"type": "image" | "audio", "data": str(data), "mimeType": str(kind)}:
                pass
            case _:
                kept = json.dumps(block, ensure_ascii=False)
                texts.append(f"[content that does not follow the protocol: {kept}]")
        if kind in _IMAGE_TYPES:
            images.append(Image(data, kind))
        elif kind:
            texts.append(await asyncio.to_thread(_store, data, kind, workspace.root))
    if not content and result.get("structuredContent") is not None:
        texts.append(json.dumps(result["structuredContent"], ensure_ascii=False, indent=1))
    text = "\n".join(filter(None, texts))
    if result.get("isError") and not text:
        text = "The tool failed without giving a reason."
    return Observation(text, tuple(images), bool(result.get("isError")))


def _store(data: str, kind: str, root: Path) -> str:
    """Write content to a file named by its hash; return a line that describes it. Blocking."""
    try:
        content = base64.b64decode(data, validate=True)
        suffix = mimetypes.guess_extension(kind) or ".bin"
        name = f"{OBSERVATIONS}/{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
        write_private(root / name, content)
    except (binascii.Error, OSError) as error:
        return f"[{kind}, which could not be saved: {error}]"
    return f"[{kind}, {len(content):,} bytes, in {name}]"
