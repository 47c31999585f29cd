import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from manus.calls.catalog import Catalog, build_catalog
from manus.calls.session import Session
from manus.config.mcp_settings import McpServer
from manus.config.profile import Profile
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.tools.mcp import load_mcp_tools
from tests.helpers.sessions import session_in

ODD = str(Path(__file__).with_name("odd_server.py"))
ODD_SERVER = (
    f"[mcp.odd]\ncommand = {json.dumps(sys.executable)}\n"
    f"args = {json.dumps([ODD, 'stdio'])}\nconnect_timeout = 90\ndirectory = '.'\n"
)
"""The odd server in a `manus.toml`."""
ASKING = Profile("asking", "Has MCP tools.", ("mcp", "terminate"), "You work.", "What next?")

SEEN = SandboxSettings(read=(str(Path(ODD).parent), str(Path(ODD).parents[1] / "safety")))
"""The servers' programs are outside the workspace."""

Connect = Callable[..., Awaitable[tuple[Catalog, Session]]]


def odd(**options: object) -> McpServer:
    """Return the odd server as a program."""
    # starting takes a while on a busy machine
    defaults = {"command": sys.executable, "args": (ODD, "stdio"), "connect_timeout": 90}
    # it stores its notes where it is started
    return McpServer.model_validate({**defaults, "directory": ".", **options})


@contextmanager
def odd_at_address(
    kind: str, port: int = 0, program: str = ODD, **env: str
) -> Iterator[tuple[str, int]]:
    """Provide the odd server, or another one, at an address; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, program, kind, str(port)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )
    with process:
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}", port
        finally:
            process.kill()


async def connected_to(folder: Path, **servers: McpServer) -> tuple[Catalog, Session]:
    """Return a catalog with the tools of servers, and the session, which must be closed."""
    session = session_in(folder, profile=ASKING, settings=Settings(mcp=servers, sandbox=SEEN))
    catalog = build_catalog(ASKING.tools, session)
    await load_mcp_tools(catalog, session)
    return catalog, session


@pytest.fixture
async def connect(tmp_path: Path) -> AsyncIterator[Connect]:
    """Connect servers by name, in a session that is closed at the end."""
    sessions: list[Session] = []

    async def connected(**servers: McpServer) -> tuple[Catalog, Session]:
        catalog, session = await connected_to(tmp_path / "workspace", **servers)
        sessions.append(session)
        return catalog, session

    yield connected
    for session in sessions:
        await session.close()
