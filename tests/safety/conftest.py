import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.site import Site

PLAIN_SERVER = str(Path(__file__).with_name("plain_server.py"))


def planted_server(folder: Path, texts: dict[str, str]) -> str:
    """Return the lines of a `manus.toml` for a server whose tools have these descriptions."""
    (folder / "said").write_text(json.dumps(texts), "utf-8")
    return (
        f"[mcp.planted]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps([PLAIN_SERVER, str(folder / 'said')])}\n"
        "connect_timeout = 90\nsandbox = false\n"
    )


class Internet(Site):
    """A proxy behind the run's own one that answers for every host, from `pages` by `host/path`."""

    @property
    def arrived(self) -> list[str]:
        """Return everything that arrived anywhere: the address and the sent data."""
        return [
            f"{r.path}{r.query and '?'}{r.query} {r.body.decode()}".strip() for r in self.requests
        ]

    def at(self, host: str) -> list[str]:
        """Return what arrived at a host or one of its subdomains."""
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
