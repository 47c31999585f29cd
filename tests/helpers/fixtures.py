"""Fixtures for a scripted server, and for an agent and a flow that use it."""

import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from manus.models import refusals, tokens
from manus.models.server_window import watch_window
from manus.threads.sqlite import SqliteStore, open_sqlite
from tests.flow.helpers import SECOND, ScriptedFlow
from tests.helpers.agent import CONSULTER, TESTER, ScriptedAgent
from tests.server import ScriptedServer
from tests.threads.postgres_server import PostgresServer, running


@pytest.fixture(autouse=True)
def unknown_endpoints() -> None:
    """Clear what is known about endpoints: another test's server may have had the same port."""
    refusals._learned.clear()
    tokens._learned.clear()
    tokens._reported.clear()
    watch_window.cache_clear()


@pytest.fixture
async def saver(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """Provide checkpoints in a file of the test's own."""
    async with open_sqlite(tmp_path / "threads.sqlite") as saver:
        yield saver


@pytest.fixture
def own_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a workspace in the current folder, which has no `manus.toml` of the developer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
async def agent(
    server: ScriptedServer, saver: SqliteStore, own_workspace: Path
) -> AsyncIterator[ScriptedAgent]:
    """Provide an agent on the scripted server, with the tools of `tests.helpers.tools`."""
    scripted_agent = ScriptedAgent(server, own_workspace, saver)
    yield scripted_agent
    await scripted_agent.graph.close_waiting()


@pytest.fixture
def consulter(agent: ScriptedAgent) -> ScriptedAgent:
    """Provide an agent with a tool that calls a model."""
    return ScriptedAgent(agent.server, agent.workspace, agent.saver, CONSULTER)


@pytest.fixture
async def flow(
    server: ScriptedServer, saver: SqliteStore, own_workspace: Path
) -> AsyncIterator[ScriptedFlow]:
    """Provide a flow with the executors `tester` (the first) and `second`."""
    scripted_flow = ScriptedFlow(server, own_workspace, saver, (TESTER, SECOND))
    yield scripted_flow
    await scripted_flow.graph.close_waiting()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Provide one server for all tests; each creates a database of its own."""
    # not below pytest's folder, which the server's user cannot access
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
        yield server


@pytest.fixture
def new_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], ScriptedServer]]:
    """Create as many scripted servers as needed; each is closed and verified at the end."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    servers: list[ScriptedServer] = []

    def make() -> ScriptedServer:
        servers.append(ScriptedServer())
        return servers[-1]

    yield make
    for server in servers:
        server.close()
    if complaints := "\n".join(filter(None, (server.complaint() for server in servers))):
        pytest.fail(complaints, pytrace=False)


@pytest.fixture
def server(new_server: Callable[[], ScriptedServer]) -> ScriptedServer:
    """Provide a scripted server; the test fails at its end if a request was not in the script."""
    return new_server()
