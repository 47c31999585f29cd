"""One `langgraph dev` for all of its tests, and a client that drives it."""

import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from langgraph_sdk import get_client

from tests.helpers.pages import find_code_blocks
from tests.server import ScriptedServer
from tests.server_api.dev_server import ROOT, DevServer, clean_copy, serving
from tests.server_api.studio import Studio

PAGE = (ROOT / "docs" / "profiles.md").read_text("utf-8")
"""Its files are a profile with a tool, and a graph of it, as a user writes them."""


@pytest.fixture(scope="session")
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer() as model:
        yield model


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a clean copy of the repository, with the page's files and access to loopback."""
    clone = clean_copy(tmp_path_factory.mktemp("dev") / "clone")
    for code in find_code_blocks(PAGE, "python"):
        (clone / code.split()[1]).write_text(code)
    [toml] = find_code_blocks(PAGE, "toml")
    (clone / "manus.toml").write_text(toml + '[egress]\nallow_private = ["127.0.0.1"]\n')
    served = json.loads((clone / "langgraph.json").read_text())
    [graph] = re.findall(r"under `graphs`: `(.*?)`", PAGE)
    served["graphs"] |= json.loads(f"{{{graph}}}")
    (clone / "langgraph.json").write_text(json.dumps(served))
    return clone


@pytest.fixture(scope="session")
def dev(clone: Path, model: ScriptedServer) -> Iterator[DevServer]:
    settings = {"MANUS_MODEL": "scripted", "MANUS_BASE_URL": model.base_url}
    with serving(clone, clone.parent, **settings) as dev:
        yield dev


@pytest.fixture
async def studio(dev: DevServer, server: ScriptedServer, tmp_path: Path) -> AsyncIterator[Studio]:
    """Provide the server, with a model and a workspace of the test's own."""
    before = len(dev.log)
    async with get_client(url=dev.url, api_key=None) as client:
        yield Studio(client, server, tmp_path / "workspace")
    sys.stdout.write(dev.log[-10_000:])  # printed by pytest for a failed test
    text = dev.log[before:] + "".join(request.text for request in server.requests)
    assert not re.search("BlockingError|Blocking call to", text), "the event loop was blocked"
