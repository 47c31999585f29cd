"""A flow on the scripted server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manus.sqlite import SqliteStore
from tests.flow.helpers import SECOND, ScriptedFlow
from tests.helpers.agent import TESTER
from tests.server import ScriptedServer


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
