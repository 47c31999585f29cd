"""Fixtures of an agent on the scripted server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manus.models.tokens import forget_windows
from manus.sqlite import SqliteStore, open_sqlite
from tests.helpers.agent import ScriptedAgent
from tests.server import ScriptedServer


@pytest.fixture(autouse=True)
def unknown_endpoints() -> None:
    """Nothing is known of any endpoint: another test's server may have had the same port."""
    forget_windows()


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
