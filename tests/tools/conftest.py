from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manus.tools.session import Session
from manus.tools.workspace import Workspace


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A session in an empty workspace, closed at the end."""
    workspace = Workspace(tmp_path)
    workspace.prepare()
    session = Session(workspace)
    yield session
    await session.close()
