import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.safety.internet import Internet

PLAIN_SERVER = str(Path(__file__).with_name("plain_server.py"))


def planted_server(folder: Path, said: dict[str, str]) -> str:
    """The lines of a `manus.toml` for a server whose tools say this, each in its description."""
    (folder / "said").write_text(json.dumps(said), "utf-8")
    return (
        f"[mcp.planted]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps([PLAIN_SERVER, str(folder / 'said')])}\n"
        "connect_timeout = 90\nsandbox = false\n"
    )


@pytest.fixture
def internet() -> Iterator[Internet]:
    made = Internet()
    yield made
    made.close()
