"""Fixtures: `pytest_plugins = ["tests.server.fixtures"]` in a conftest brings them in."""

from collections.abc import Callable, Iterator

import pytest

from tests.server.server import ScriptedServer


@pytest.fixture
def new_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], ScriptedServer]]:
    """Make scripted servers, as many as wanted; each is closed and verified at the end."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    made: list[ScriptedServer] = []

    def make() -> ScriptedServer:
        made.append(ScriptedServer())
        return made[-1]

    yield make
    for server in made:
        server.close()
    if complaints := "\n".join(filter(None, (server.complaint() for server in made))):
        pytest.fail(complaints, pytrace=False)


@pytest.fixture
def server(new_server: Callable[[], ScriptedServer]) -> ScriptedServer:
    """A scripted server; the test fails at its end when not all went by the script."""
    return new_server()
