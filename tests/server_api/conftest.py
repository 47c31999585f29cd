"""One `langgraph dev` for all tests of it, and a client that drives it."""

from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client

from tests.server import ScriptedServer
from tests.server_api.dev_server import DevServer, clean_copy, serving
from tests.server_api.studio import Studio


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    """The model that the server's own environment names."""
    with ScriptedServer() as model:
        yield model


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of the repository."""
    return clean_copy(tmp_path_factory.mktemp("dev") / "clone")


@pytest.fixture(scope="module")
def dev(clone: Path, model: ScriptedServer) -> Iterator[DevServer]:
    """The server."""
    settings = {"MANUS_MODEL": "scripted", "MANUS_BASE_URL": model.base_url}
    with serving(clone, clone.parent, **settings) as dev:
        yield dev


@pytest.fixture
async def studio(dev: DevServer, server: ScriptedServer, tmp_path: Path) -> AsyncIterator[Studio]:
    """The server, with a model and a workspace of the test's own."""
    before = len(dev.log)
    async with get_client(url=dev.url, api_key=None) as client:
        yield Studio(client, server, tmp_path / "workspace")
    assert "BlockingError" not in dev.log[before:], "a call blocked the event loop"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the server said with a test that failed."""
    report = yield
    dev: Any = getattr(item, "funcargs", {}).get("dev")
    if report.failed and isinstance(dev, DevServer):
        report.sections.append(("langgraph dev", dev.log[-10_000:]))
    return report
