"""How a server is reached, by the SDK's transports: as a program of ours, or at an address."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import anyio
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

Inbox = MemoryObjectReceiveStream[SessionMessage | Exception]
Outbox = MemoryObjectSendStream[SessionMessage]


@dataclass(frozen=True, slots=True)
class Streams:
    """What comes from a server and what goes to it."""

    read: Inbox
    write: Outbox
    last_words: Callable[[], str] = str
    """What it has said besides its messages, in a line, when it failed."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """The server has gone."""


@asynccontextmanager
async def reach(server: McpServer, workspace: Workspace) -> AsyncIterator[Streams]:
    """A connection for the length of a block; the program that it started has ended afterwards.

    Raises:
        ToolUnavailableError: the program cannot be started.
        SettingsError: a variable that the settings refer to is not set.
    """
    transport = _program(server, workspace) if server.kind == "stdio" else _address(server)
    async with transport as found:
        # the SDK does not say that a server has gone: its stream ends, and this one hears it
        inbox, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        streams = Streams(read, found.write, found.last_words)
        async with read, anyio.create_task_group() as tasks:
            tasks.start_soon(_hand_on, found.read, inbox, streams.ended)
            yield streams
            tasks.cancel_scope.cancel()


async def _hand_on(
    source: Inbox,
    target: MemoryObjectSendStream[SessionMessage | Exception],
    ended: asyncio.Event,
) -> None:
    try:
        async with source, target:
            async for message in source:
                await target.send(message)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # nobody reads any more
    finally:
        ended.set()


@asynccontextmanager
async def _address(server: McpServer) -> AsyncIterator[Streams]:
    url, headers = str(server.url), server.all_headers(os.environ)
    # made in a thread: it reads the machine's certificates
    client = await asyncio.to_thread(_client, url, headers, server.connect_timeout)
    if server.kind == "sse":
        make: Any = lambda **_: client  # noqa: E731 - a type that the SDK does not export
        async with sse_client(url, httpx_client_factory=make) as (read, write):
            yield Streams(read, write)
        return
    async with client, streamable_http_client(url, http_client=client) as (read, write, _):
        yield Streams(read, write)


def _client(url: str, headers: dict[str, str], seconds: float) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        headers=headers,
        timeout=httpx.Timeout(seconds, read=_IDLE),
        trust_env=not _is_here(httpx.URL(url).host),  # no proxy leads to this machine
    )


def _is_here(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


@asynccontextmanager
async def _program(server: McpServer, workspace: Workspace) -> AsyncIterator[Streams]:
    program = StdioServerParameters(
        command=str(server.command),
        args=list(server.args),
        env={**scrubbed(os.environ), **server.variables(os.environ)},
        cwd=_folder(server.directory) if server.directory else workspace.root,
        encoding_error_handler="replace",
    )
    errors = await asyncio.to_thread(tempfile.TemporaryFile, "w+", errors="replace")
    with errors:
        try:
            async with stdio_client(program, errlog=errors) as (read, write):
                yield Streams(read, write, lambda: _last_line(errors))
        except OSError as error:
            raise ToolUnavailableError(
                f"`{server.command}` cannot be started: {error.strerror}."
            ) from None


def _folder(name: str) -> Path:
    return Path(name).expanduser()


def _last_line(errors: IO[str]) -> str:
    errors.seek(max(0, os.fstat(errors.fileno()).st_size - 4096))
    lines = [line.strip() for line in errors.read().splitlines()]
    return next((line[:_SHOWN] for line in reversed(lines) if line), "")
