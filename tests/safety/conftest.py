import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.site import Site

PLAIN_SERVER = str(Path(__file__).with_name("plain_server.py"))


def planted_server(folder: Path, texts: dict[str, str]) -> str:
    """The lines of a `manus.toml` for a server whose tools say this, each in its description."""
    (folder / "said").write_text(json.dumps(texts), "utf-8")
    return (
        f"[mcp.planted]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps([PLAIN_SERVER, str(folder / 'said')])}\n"
        "connect_timeout = 90\nsandbox = false\n"
    )


class Internet(Site):
    """A proxy behind the run's own one: it answers for every host, by `host/path` of `pages`."""

    @property
    def arrived(self) -> list[str]:
        """What has arrived anywhere: the address, and what was sent there."""
        return [
            f"{r.path}{r.query and '?'}{r.query} {r.body.decode()}".strip() for r in self.requests
        ]

    def at(self, host: str) -> list[str]:
        """What has arrived at a host, or at one below it."""
        return [
            arrival
            for arrival in self.arrived
            if str(urlsplit(f"//{arrival}").hostname).endswith(host)
        ]


@pytest.fixture
def internet() -> Iterator[Internet]:
    server = Internet()
    yield server
    server.close()
