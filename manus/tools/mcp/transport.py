"""Connect to a server with the SDK's transports, at its address or as a subprocess."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from manus.calls.session import Session, get_sandbox
from manus.config.mcp_settings import McpServer
from manus.sandbox.confined import Confined
from manus.sandbox.egress import is_loopback
from manus.sandbox.host_programs import find_host_program
from manus.sandbox.process import build_host_environment
from manus.state.errors import ToolUnavailableError
from manus.tools.mcp.oauth import LoginAuth, log_in, login_address
from manus.tools.mcp.sdk import Streams, connect_address, http, start_program

_START_DIRECTORY = Path("/")
"""The working directory of servers. Not the workspace: `python -m server` imports modules from its
working directory, so a module written by a run would get the server's token and network access."""
_MAX_LINE = 300
_READ_TIMEOUT = 86_400.0
"""Read timeout of HTTP connections in seconds; each call has its own timeout."""
Connected = tuple[Streams, Callable[[], str]]
"""A server's streams, and a function that returns its last error line."""


def connect(server: McpServer, session: Session) -> AbstractAsyncContextManager[Connected]:
    """Connect to a server for the length of a block."""
    if server.kind == "stdio":
        return _start_program(server, session)
    return _connect_address(server)


@asynccontextmanager
async def _connect_address(server: McpServer) -> AsyncIterator[Connected]:
    """Connect to a server at an address for the length of a block."""
    server = server.expand(os.environ)
    options = {
        **_client_options(server),
        "timeout": http.Timeout(server.connect_timeout, read=_READ_TIMEOUT),
        "auth": LoginAuth(login_address(server)),
    }
    async with connect_address(str(server.url), server.kind, options) as streams:
        yield streams, str


def _client_options(server: McpServer) -> dict[str, Any]:
    url = urlsplit(str(server.url))
    return {
        "headers": server.all_headers,
        "timeout": server.connect_timeout,
        "trust_env": not is_loopback(url.hostname or ""),  # no proxy for this machine
    }


async def log_in_at(server: McpServer, show: Callable[[str], None], seconds: float) -> None:
    """Log in at the address of a server whose variables have been replaced; see `log_in`."""
    await log_in(str(server.url), server.kind, _client_options(server), show, seconds)


@asynccontextmanager
async def _start_program(server: McpServer, session: Session) -> AsyncIterator[Connected]:
    """Start a server as a subprocess, and stop it after the block."""
    root = session.workspace.root
    server = server.expand(os.environ)
    environment = {**await asyncio.to_thread(build_host_environment), **server.variables}
    if server.directory is None:
        directory = _START_DIRECTORY
        argv = tuple(_resolve_argument(word, root) for word in (str(server.command), *server.args))
    else:
        directory = _resolve_folder(server.directory, root)
        argv = (str(server.command), *server.args)
    # also in the sandbox, since the program gets the user's keys
    argv = (await asyncio.to_thread(_find_program, argv[0]), *argv[1:])
    command = Confined(argv, environment)
    if server.confined:
        sandbox = await get_sandbox(session)
        confine = partial(sandbox.confine, is_user_program=True)
        readable = await asyncio.to_thread(_readable_paths, directory)
        command = await asyncio.to_thread(confine, *command, directory, readable)
    program = {
        "command": command.argv[0],
        "args": list(command.argv[1:]),
        "env": dict(command.environment),
        "cwd": directory,
    }
    errors = await asyncio.to_thread(tempfile.TemporaryFile, "w+", errors="replace")
    with errors:
        try:
            async with start_program(program, errors) as streams:
                yield streams, lambda: _last_line(errors)
        except OSError as error:
            raise ToolUnavailableError(
                f"Cannot start `{server.command}`: {error.strerror}."
            ) from None


def _find_program(name: str) -> str:
    """Return the path of a server's program, which no sandbox can write unless the user named it.

    Raises:
        ToolUnavailableError: there is none. Blocking.
    """
    program = find_host_program(name)
    if program is None:
        raise ToolUnavailableError(
            f"Cannot start `{name}`: it is not on the PATH outside of workspaces. Install it, or "
            "name its path in `command`."
        )
    return program


def _readable_paths(directory: Path) -> tuple[Path, ...]:
    """Return the paths that a server may read in addition: its working directory. Blocking.

    A directory that contains the user's home is not made readable.
    """
    contains_home = Path.home().is_relative_to(directory)
    return () if contains_home else (directory,)


def _resolve_argument(argument: str, root: Path) -> str:
    """Resolve an argument of a server's command: `./` and `../` are relative to the workspace."""
    is_relative = argument in (".", "..") or argument.startswith(("./", "../"))
    return str(_resolve_folder(argument, root)) if is_relative else argument


def _resolve_folder(folder: str, root: Path) -> Path:
    """Resolve a folder in the settings, without disk access in the event loop."""
    return Path(os.path.normpath(root / Path(folder).expanduser()))


def _last_line(errors: IO[str]) -> str:
    errors.seek(max(0, os.fstat(errors.fileno()).st_size - 4096))
    lines = [line.strip() for line in errors.read().splitlines()]
    return next((line[:_MAX_LINE] for line in reversed(lines) if line), "")
