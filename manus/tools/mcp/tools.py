"""The tools of all servers of a session, in its catalogue."""

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
from typing import Any

from mcp import types
from pydantic import Field
from typing_extensions import override

from manus.config.mcp_settings import McpServer
from manus.execution.base import AgentTool
from manus.execution.catalog import Catalog
from manus.execution.result import Image, Observation
from manus.execution.safe_open import write_private
from manus.execution.sandbox.sandbox import sandbox_of
from manus.execution.session import EVERYTHING, Resource, Session
from manus.execution.workspace import OBSERVATIONS, Workspace
from manus.prompts.sources import framed, plain
from manus.state.errors import ToolError, ToolUnavailableError
from manus.tools.mcp.server import Server

LONGEST = 64
"""Characters that providers take for a tool's name."""
_LONGEST_DESCRIPTION = 4_000
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What models can see; other pictures are kept as files."""


class McpTool(AgentTool):
    """Calls a tool of a server; the server checks the arguments."""

    server: Any = Field(exclude=True, repr=False)
    told: types.Tool = Field(exclude=True, repr=False)
    """What the server says of it."""

    @override
    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        return frozenset({Resource(EVERYTHING, write=not self.read_only(args))})

    @override
    def relies_on(self, args: dict[str, Any]) -> frozenset[Resource]:
        hints = self.told.annotations
        is_reading = self.read_only(args) or bool(hints and hints.readOnlyHint)
        return frozenset({Resource(f"mcp/{self.server.name}", write=not is_reading)})

    @override
    def read_only(self, args: dict[str, Any]) -> bool:
        return self.told.name in self.server.settings.read_only

    @override
    def leaves(self, args: dict[str, Any]) -> str:
        # the server's own `readOnlyHint` is no reason: arguments may carry data to it
        if self.server.settings.trust or self.read_only(args):
            return ""
        return f"the MCP server `{self.server.name}` may change something"

    @override
    async def observe(self, *_: Any, **arguments: Any) -> Observation:
        try:
            result = await self.server.call(self.told.name, arguments)
        except ToolError as error:
            error.source = self.server.source  # it quotes the server
            raise
        observation = await to_observation(result, self.session.workspace)
        self.session.egress_guard.read(observation.text)
        return replace(observation, source=self.server.source)


async def update(catalog: Catalog, session: Session) -> list[Server]:
    """Bring the catalogue in line with what the servers offer now; the servers, in order.

    A server is connected the first time; one that cannot be reached is left out, and said in a
    line of the log.
    """
    chosen = {n: s for n, s in session.settings.mcp.items() if s.enabled}
    servers = [await _obtain(n, s, session) for n, s in chosen.items()]
    await asyncio.gather(*(server.refresh() for server in servers))
    for server in servers:
        known = tools_of(server, catalog)
        if [tool.told for tool in known] != server.tools:
            for tool in known:
                catalog.remove(tool.name)
            for told in server.tools:
                catalog.add(_to_tool(told, server, catalog, session))
    return servers


async def _obtain(name: str, settings: McpServer, session: Session) -> Server:
    async def make() -> Server:
        if settings.confined:
            with suppress(ToolUnavailableError):  # told when it is connected
                await sandbox_of(session)  # so that it is closed after the server
        return Server(name, settings, session)

    return await session.obtain(f"mcp:{name}", make)


def tools_of(server: Server, catalog: Catalog) -> list[McpTool]:
    """The tools of a server that a catalogue has."""
    return [tool for tool in catalog if isinstance(tool, McpTool) and tool.server is server]


def _to_tool(told: types.Tool, server: Server, catalog: Catalog, session: Session) -> McpTool:
    about = told.description or told.title or f"`{told.name}` of the MCP server `{server.name}`."
    schema = json.loads(plain(json.dumps(told.inputSchema, ensure_ascii=False)))
    schema.pop("$schema", None)
    return McpTool(
        name=tool_name(server.name, told.name, lambda name: catalog.find(name) is not None),
        description=framed(about[:_LONGEST_DESCRIPTION], server.source),
        args_schema={"properties": {}, **schema, "type": "object"},
        session=session,
        server=server,
        told=told,
    )


def tool_name(server: str, tool: str, is_taken: Callable[[str], bool]) -> str:
    """The name `mcp_<server>_<tool>`: letters, digits, `_` and `-`, and no other tool's.

    One that had to be cut, or that would be another's, ends with a few digits made from what it
    stands for, so that it is the same in each run.
    """
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp_{server}_{tool}")
    if len(name) <= LONGEST and not is_taken(name):
        return name
    digits = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{name[: LONGEST - 9]}_{digits}"


async def to_observation(result: types.CallToolResult, workspace: Workspace) -> Observation:
    """The observation of a reply. What is neither text nor a picture is kept in a file."""
    texts: list[str] = []
    images: list[Image] = []
    for block in result.content:
        data = ""
        kind = ""
        match block:
            case types.TextContent(text=text):
                texts.append(text)
            case types.ResourceLink(name=name, mimeType=about, uri=uri):
                texts.append(f"[resource {name}{f' ({about})' if about else ''}: {uri}]")
            case types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, text=text)):
                texts.append(f"[resource {uri}]\n{text}")
            case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
                data = resource.blob
                kind = resource.mimeType or "application/octet-stream"
            case types.ImageContent() | types.AudioContent():
                data = block.data
                kind = block.mimeType
        if kind in _PICTURES:
            images.append(Image(data, kind))
        elif kind:
            texts.append(await asyncio.to_thread(_keep, data, kind, workspace.root))
    if not result.content and result.structuredContent is not None:
        texts.append(json.dumps(result.structuredContent, ensure_ascii=False, indent=1))
    text = "\n".join(filter(None, texts))
    if result.isError and not text:
        text = "The tool failed without saying why."
    return Observation(text, tuple(images), bool(result.isError))


def _keep(data: str, kind: str, root: Path) -> str:
    """Write to a file that is named by what is in it. Blocking."""
    try:
        content = base64.b64decode(data, validate=True)
        suffix = mimetypes.guess_extension(kind) or ".bin"
        name = f"{OBSERVATIONS}/{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
        write_private(root / name, content)
    except (binascii.Error, OSError) as error:
        return f"[{kind}, which could not be kept: {error}]"
    return f"[{kind}, {len(content):,} bytes, in {name}]"
