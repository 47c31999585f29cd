"""Fixtures of an agent, and of a flow, on the scripted server."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from manus.models import tokens
from manus.sqlite import SqliteStore, open_sqlite
from tests.flow.helpers import SECOND, ScriptedFlow
from tests.helpers.agent import CONSULTER, TESTER, ScriptedAgent
from tests.manus.postgres_server import PostgresServer, running
from tests.server import ScriptedServer


@pytest.fixture(autouse=True)
def unknown_endpoints() -> None:
    """Nothing is known of any endpoint: another test's server may have had the same port."""
    tokens._learned.clear()


@pytest.fixture
async def saver(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """Checkpoints in a file of the test's own."""
    async with open_sqlite(tmp_path / "threads.sqlite") as saver:
        yield saver


@pytest.fixture
async def agent(
    server: ScriptedServer,
    saver: SqliteStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[ScriptedAgent]:
    """An agent on the scripted server, with the tools of `tests.helpers.tools`."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    monkeypatch.chdir(tmp_path)  # where no `manus.toml` of the developer lies
    made = ScriptedAgent(server, workspace, saver)
    yield made
    await made.graph.close_waiting()


@pytest.fixture
def consulter(agent: ScriptedAgent) -> ScriptedAgent:
    """An agent with a tool that asks a model; nothing holds it."""
    (agent.workspace / "release").touch()
    return ScriptedAgent(agent.server, agent.workspace, agent.saver, CONSULTER)


@pytest.fixture
async def flow(
    server: ScriptedServer,
    saver: SqliteStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[ScriptedFlow]:
    """A flow with the executors `tester` (the first) and `second`."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    monkeypatch.chdir(tmp_path)
    made = ScriptedFlow(server, workspace, saver, (TESTER, SECOND))
    yield made
    await made.graph.close_waiting()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all; each test makes a database of its own."""
    # not below pytest's folder, which the server's user may not enter
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
        yield server
