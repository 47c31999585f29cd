"""One `langgraph dev` for all tests of it, and a client that drives it."""

import json
import re
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client

from tests.helpers.pages import blocks_of
from tests.server import ScriptedServer
from tests.server_api.dev_server import ROOT, DevServer, clean_copy, serving
from tests.server_api.studio import Studio

PAGE = (ROOT / "docs" / "profiles.md").read_text("utf-8")
"""Its files are a profile with a tool, and a graph of it, as a user makes them."""


@pytest.fixture(scope="session")
def model() -> Iterator[ScriptedServer]:
    """The model that the server's own environment names."""
    with ScriptedServer() as model:
        yield model


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of the repository, with the files of the page and the leave to look at sites
    on loopback."""
    clone = clean_copy(tmp_path_factory.mktemp("dev") / "clone")
    for code in blocks_of(PAGE, "python"):
        (clone / code.split()[1]).write_text(code)
    [toml] = blocks_of(PAGE, "toml")
    (clone / "manus.toml").write_text(toml + '[egress]\nallow_private = ["127.0.0.1"]\n')
    served = json.loads((clone / "langgraph.json").read_text())
    [graph] = re.findall(r"under `graphs`: `(.*?)`", PAGE)
    served["graphs"] |= json.loads(f"{{{graph}}}")
    (clone / "langgraph.json").write_text(json.dumps(served))
    return clone


@pytest.fixture(scope="session")
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
    told = dev.log[before:] + "".join(request.text for request in server.requests)
    assert "BlockingError" not in told, "a call blocked the event loop"
    assert "Blocking call to" not in told, "a call blocked the event loop"


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
