"""How a server is reached: as a program of ours, or at an address."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from manus.state.mcp_settings import McpServer
from manus.tools.mcp.stdio import Wire, over_pipes
from manus.tools.shell.output import PipeReader
from manus.tools.shell.process import Process, prepare, start
from manus.tools.shell.process_tree import new_mark
from manus.tools.workspace import Workspace

_FAREWELL = 1.0
"""Seconds in which a program may end by itself once its stdin is closed."""
_SHOWN = 300
_IDLE = 86_400.0
"""Seconds that an address may keep silent; each call has its own limit."""


@asynccontextmanager
async def reach(server: McpServer, workspace: Workspace) -> AsyncIterator[Wire]:
    """A connection for the length of a block; what it has started has ended afterwards.

    Raises:
        ToolUnavailableError: the program cannot be started.
        SettingsError: a variable that the settings refer to is not set.
    """
    if server.kind == "stdio":
        async with _program(server, workspace) as wire:
            yield wire
        return
    url, headers = str(server.url), server.all_headers(os.environ)
    # made in a thread: it reads the machine's certificates
    client = await asyncio.to_thread(_client, url, headers, server.connect_timeout)
    if server.kind == "sse":
        make: Any = lambda **_: client  # noqa: E731 - a type that the SDK does not export
        async with sse_client(url, httpx_client_factory=make) as (read, write):
            yield Wire(read, write)
        return
    async with client, streamable_http_client(url, http_client=client) as (read, write, _):
        yield Wire(read, write)


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
async def _program(server: McpServer, workspace: Workspace) -> AsyncIterator[Wire]:
    mark = new_mark()
    launch = await asyncio.to_thread(
        prepare,
        [str(server.command), *server.args],
        workspace=workspace,
        mark=mark,
        directory=_folder(server.directory) if server.directory else None,
        extra=server.variables(os.environ),
    )
    (their_in, our_out), (our_in, their_out), (our_errors, their_errors) = (
        os.pipe() for _ in range(3)
    )
    errors = PipeReader(our_errors)
    try:
        process = await start(
            launch, mark=mark, stdin=their_in, output=their_out, errors=their_errors
        )
    except BaseException:
        errors.close()
        _close(our_in, our_out)
        raise
    finally:
        _close(their_in, their_out, their_errors)
    try:
        async with over_pipes(our_in, our_out) as wire:
            yield Wire(wire.read, wire.write, wire.ended, lambda: _last_line(errors))
    finally:
        # In a task of its own: a task that is being cancelled cannot measure time in Python 3.11.
        ending = asyncio.ensure_future(_end(process))
        with anyio.CancelScope(shield=True):
            await asyncio.wait({ending})
        errors.close()


async def _end(process: Process) -> None:
    """Its stdin is closed: it may end by itself before it is ended, with all it has started."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_FAREWELL):
            await process.wait()
    await process.end()


def _folder(name: str) -> Path:
    return Path(name).expanduser()


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _last_line(errors: PipeReader) -> str:
    lines = [line.strip() for line in errors.take().text().splitlines()]
    return next((line[:_SHOWN] for line in reversed(lines) if line), "")
