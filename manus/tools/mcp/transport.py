"""How a server is reached, by the SDK's transports: at its address, or as a program of ours."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import httpx
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from manus.config.mcp_settings import McpServer
from manus.execution.network.egress import is_loopback
from manus.execution.process import scrubbed
from manus.execution.sandbox.confined import Confined
from manus.execution.sandbox.sandbox import sandbox_of
from manus.execution.session import Session
from manus.state.errors import ToolUnavailableError

_START = Path("/")
"""Where servers start. Not in the workspace: `python -m server` loads modules from where it starts,
and a module that a run has written there would get the server's token and network access."""
_SHOWN = 300
_IDLE = 86_400.0
"""Seconds that an address may keep silent; each call has its own limit."""
Streams = tuple[Any, Any, Callable[[], str]]
"""What comes from a server, what goes to it, and what it said besides when it failed, in a line."""


def reached(server: McpServer, session: Session) -> AbstractAsyncContextManager[Streams]:
    """A server for the length of a block."""
    return _program(server, session) if server.kind == "stdio" else _address(server)


@asynccontextmanager
async def _address(server: McpServer) -> AsyncIterator[Streams]:
    """A server at an address, for the length of a block."""
    url = str(server.url)
    make_client = partial(
        httpx.AsyncClient,
        headers=server.all_headers(os.environ),
        timeout=httpx.Timeout(server.connect_timeout, read=_IDLE),
        trust_env=not is_loopback(httpx.URL(url).host),  # no proxy leads to this machine
    )
    client = await asyncio.to_thread(make_client)  # it reads the machine's certificates
    if server.kind == "sse":
        make: Any = lambda **_: client  # noqa: E731 - a type that the SDK does not export
        async with sse_client(url, httpx_client_factory=make) as (read, write):
            yield read, write, str
        return
    async with client, streamable_http_client(url, http_client=client) as (read, write, _):
        yield read, write, str


@asynccontextmanager
async def _program(server: McpServer, session: Session) -> AsyncIterator[Streams]:
    """A server that is a program of ours, which has ended after the block."""
    root = session.workspace.root
    environment = {**scrubbed(os.environ), **server.variables(os.environ)}
    if server.directory is None:
        directory = _START
        words = tuple(_from_workspace(word, root) for word in (str(server.command), *server.args))
    else:
        directory = _absolute(server.directory, root)
        words = (str(server.command), *server.args)
    started = Confined(words, environment)
    if server.confined:
        sandbox = await sandbox_of(session)
        confine = partial(sandbox.confine, chosen=True)
        readable = await asyncio.to_thread(_readable, directory)
        started = await asyncio.to_thread(confine, *started, directory, readable)
    program = StdioServerParameters(
        command=started.argv[0],
        args=list(started.argv[1:]),
        env=dict(started.environment),
        cwd=directory,
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


def _readable(directory: Path) -> tuple[Path, ...]:
    """Return what a server may read besides what all programs do: where it is started. Blocking.

    A folder with the user's whole home is too much to give away by naming where to start.
    """
    is_too_much = Path.home().is_relative_to(directory)
    return () if is_too_much else (directory,)


def _from_workspace(word: str, root: Path) -> str:
    """Return a word of a server's command; a path that begins with a dot is the workspace's."""
    is_relative = word in (".", "..") or word.startswith(("./", "../"))
    return str(_absolute(word, root)) if is_relative else word


def _absolute(folder: str, root: Path) -> Path:
    """A folder from the settings. Without a look at the disk: the event loop must not wait."""
    return Path(os.path.normpath(root / Path(folder).expanduser()))


def _last_line(errors: IO[str]) -> str:
    errors.seek(max(0, os.fstat(errors.fileno()).st_size - 4096))
    lines = [line.strip() for line in errors.read().splitlines()]
    return next((line[:_SHOWN] for line in reversed(lines) if line), "")
