"""How a server is reached, by the SDK's transports: as a program of ours, or at an address."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import httpx
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from manus.state.errors import ToolUnavailableError
from manus.state.mcp_settings import McpServer
from manus.tools.shell.process import scrubbed
from manus.tools.workspace import Workspace

_SHOWN = 300
_IDLE = 86_400.0
"""Seconds that an address may keep silent; each call has its own limit."""

Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception],
    MemoryObjectSendStream[SessionMessage],
    Callable[[], str],
]
"""What comes from a server, what goes to it, and what it said besides when it failed, in a line."""


def reach(
    server: McpServer, workspace: Workspace
) -> contextlib.AbstractAsyncContextManager[Streams]:
    """A connection for the length of a block; the program that it started has ended afterwards.

    Raises:
        ToolUnavailableError: the program cannot be started.
        SettingsError: a variable that the settings refer to is not set.
    """
    return _program(server, workspace) if server.kind == "stdio" else _address(server)


@asynccontextmanager
async def _address(server: McpServer) -> AsyncIterator[Streams]:
    url, headers = str(server.url), server.all_headers(os.environ)
    # made in a thread: it reads the machine's certificates
    client = await asyncio.to_thread(_client, url, headers, server.connect_timeout)
    if server.kind == "sse":
        make: Any = lambda **_: client  # noqa: E731 - a type that the SDK does not export
        async with sse_client(url, httpx_client_factory=make) as (read, write):
            yield read, write, str
        return
    async with client, streamable_http_client(url, http_client=client) as (read, write, _):
        yield read, write, str


def _client(url: str, headers: dict[str, str], seconds: float) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        headers=headers,
        timeout=httpx.Timeout(seconds, read=_IDLE),
        trust_env=not is_loopback(httpx.URL(url).host),  # no proxy leads to this machine
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


@asynccontextmanager
async def _program(server: McpServer, workspace: Workspace) -> AsyncIterator[Streams]:
    program = StdioServerParameters(
        command=str(server.command),
        args=list(server.args),
        env={**scrubbed(os.environ), **server.variables(os.environ)},
        cwd=absolute(server.directory or ".", workspace.root),
        encoding_error_handler="replace",
    )
    errors = await asyncio.to_thread(tempfile.TemporaryFile, "w+", errors="replace")
    with errors:
        try:
            async with stdio_client(program, errlog=errors) as (read, write):
                yield read, write, lambda: _last_line(errors)
        except OSError as error:
            raise ToolUnavailableError(
                f"`{server.command}` cannot be started: {error.strerror}."
            ) from None


def absolute(folder: str, root: Path) -> Path:
    """A folder from the settings. Without a look at the disk: the event loop must not wait."""
    return Path(os.path.normpath(root / Path(folder).expanduser()))


def _last_line(errors: IO[str]) -> str:
    errors.seek(max(0, os.fstat(errors.fileno()).st_size - 4096))
    lines = [line.strip() for line in errors.read().splitlines()]
    return next((line[:_SHOWN] for line in reversed(lines) if line), "")
