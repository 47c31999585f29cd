"""This program as an MCP server: over stdin and stdout, or streamable HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from manus import __version__
from manus.mcp.client_tools import ClientTools
from manus.state.settings import Settings
from manus.tools.workspace import Workspace

INSTRUCTIONS = (
    "`agent` and `flow` work on a whole task in the workspace and tell their progress; "
    "the other tools do one thing each, in the same workspace."
)
_LARGEST = 100_000_000
"""Bytes of a message; a larger one ends the connection."""


async def serve(
    settings: Settings, profile: str, place: str, address: tuple[str, int] | None
) -> int:
    """Serve until the client goes, or a signal says so; the exit code.

    `place` is the workspace; `address` a host and port for HTTP, None for stdin and stdout.
    """
    workspace = Workspace(place)
    await asyncio.to_thread(workspace.prepare)
    server = build_server(settings, profile, workspace)
    if address is not None:
        from manus.mcp.http import serve_http

        return await serve_http(server, *address)
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await _serve_pipes(server)
    return 0


async def _serve_pipes(server: Server[ClientTools, Any]) -> None:
    reading, writing = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # whatever else is printed must not come among the messages
    reader = asyncio.StreamReader(limit=_LARGEST)
    stdin: Any = _lines(reader)
    stdout = anyio.wrap_file(os.fdopen(writing, "w", encoding="utf-8"))
    # not read in a thread, as the SDK does: a signal could not end the reading
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", 0)
    )
    async with stdio_server(stdin, stdout) as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    while line := await reader.readline():
        yield line.decode("utf-8", "replace")


def build_server(
    settings: Settings, profile: str, workspace: Workspace
) -> Server[ClientTools, Any]:
    """A server that has tools and a session of its own for each client."""

    @asynccontextmanager
    async def lifespan(_: Server[ClientTools, Any]) -> AsyncIterator[ClientTools]:
        tools = await asyncio.to_thread(ClientTools, settings, profile, workspace)
        try:
            yield tools
        finally:
            with anyio.CancelScope(shield=True):
                await tools.close()

    server: Server[ClientTools, Any] = Server("manus", __version__, INSTRUCTIONS, lifespan=lifespan)

    async def list_tools() -> list[types.Tool]:
        return server.request_context.lifespan_context.listed()

    async def call_tool(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        request = server.request_context
        token = request.meta.progressToken if request.meta is not None else None
        told = 0

        async def tell(line: str) -> None:
            nonlocal told
            if token is not None:  # the client wants to know
                told += 1
                await request.session.send_progress_notification(
                    token, float(told), message=line, related_request_id=str(request.request_id)
                )

        return await request.lifespan_context.call(name, arguments, tell)

    server.list_tools()(list_tools)  # type: ignore[no-untyped-call]
    # a tool of ours explains better what is wrong with its arguments
    server.call_tool(validate_input=False)(call_tool)
    return server
