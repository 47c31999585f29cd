from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from state.mcp_settings import McpServer
from state.profile import Profile
from state.settings import Settings
from tools.catalog import Catalog, build_catalog
from tools.equip import equip
from tools.session import Session
from tools.workspace import Workspace

ODD = str(Path(__file__).with_name("odd_server.py"))
ASKING = Profile("asking", "Has MCP tools.", ("mcp", "terminate"), "You work.", "What next?")
NPM = ("@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem")

Connect = Callable[..., Awaitable[tuple[Catalog, Session]]]


def odd(**more: object) -> McpServer:
    """The odd server as a program."""
    given = {"command": sys.executable, "args": (ODD, "stdio"), **more}
    return McpServer.model_validate(given)


@contextmanager
def odd_at_address(kind: str, port: int = 0, **env: str) -> Iterator[tuple[str, int]]:
    """The odd server at an address; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, ODD, kind, str(port)],
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


@pytest.fixture
async def connect(tmp_path: Path) -> AsyncIterator[Connect]:
    """Connects servers by name, in a session that is closed at the end."""
    sessions: list[Session] = []

    async def connected(**servers: McpServer) -> tuple[Catalog, Session]:
        workspace = Workspace(tmp_path / "workspace")
        workspace.prepare()
        session = Session(workspace, profile=ASKING, settings=Settings(mcp=servers))
        sessions.append(session)
        catalog = build_catalog(ASKING.tools, session)
        await equip(catalog, session)
        return catalog, session

    yield connected
    for session in sessions:
        await session.close()


@pytest.fixture(scope="session")
def npm_servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the servers that the protocol's authors give away, installed once."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm is not installed, from which these servers come")
    folder = tmp_path_factory.mktemp("npm")
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-save", *NPM]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110)
    if done.returncode:
        pytest.skip(f"npm could not install the servers: {done.stderr.strip()[-300:]}")
    return folder / "node_modules" / "@modelcontextprotocol"
