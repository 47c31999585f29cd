"""An agent whose model is a provider's real client before a scripted server of that provider."""

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from manus.graph.outcome import Outcome
from manus.sqlite import SqliteStore, open_sqlite
from manus.state.context import Context
from tests.helpers.agent import ScriptedAgent, thread_config
from tests.providers.anthropic import Anthropic
from tests.providers.azure import Azure
from tests.providers.bedrock import Bedrock
from tests.providers.google import Google
from tests.providers.server import ProviderServer
from tests.providers.turns import Said

PROVIDERS: dict[str, tuple[type[Any], str]] = {
    "anthropic": (Anthropic, "claude-scripted"),
    "google": (Google, "gemini-scripted"),
    "bedrock": (Bedrock, "anthropic.claude-3-5-sonnet-20240620-v1:0"),
    "azure": (Azure, "scripted"),
}
KEY = "sk-secret-of-tests"
_TIMEOUTS = itertools.count(70)


class ProvidedAgent(ScriptedAgent):
    """An agent on a provider's server; `streamed`: somebody watches its tokens."""

    provider: str
    asked: ProviderServer
    streamed: bool = False

    async def ask(self, *replies: Said, thread: str = "t", **chosen: Any) -> Outcome:
        """A run with the provider's replies."""
        await self.watch(*replies, thread=thread, **chosen)
        return await self.outcome(thread)

    async def watch(
        self, *replies: Said, thread: str = "t", **chosen: Any
    ) -> list[tuple[str, Any]]:
        """What is streamed of a run."""
        self.asked.script(*replies)
        context = Context(workspace=str(self.workspace), **chosen)
        modes = ["custom", "messages"] if self.streamed else ["custom"]
        stream: Any = self.graph.astream(
            {"request": "Do it."}, thread_config(thread), context=context, stream_mode=modes
        )
        return [part async for part in stream]

    async def watch_newer(self, *replies: Said) -> list[Any]:
        """The same in LangGraph's newer protocol."""
        self.asked.script(*replies)
        events: Any = await self.graph.astream_events(
            {"request": "Do it."},
            thread_config("t"),
            context=Context(workspace=str(self.workspace)),
            version="v3",
        )
        return [event async for event in events]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One event loop for all of these: a loop has its clients, and to make one takes a second."""
    shared = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(shared, append=False)


@pytest.fixture(params=list(PROVIDERS))
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, ProviderServer]]:
    """A server for each provider."""
    made = {provider: ProviderServer(dialect()) for provider, (dialect, _) in PROVIDERS.items()}
    yield made
    for server in made.values():
        server.close()


@pytest.fixture
def asked(
    provider: str, servers: dict[str, ProviderServer], monkeypatch: pytest.MonkeyPatch
) -> Iterator[ProviderServer]:
    """The provider's server; the settings name it."""
    dialect, name = PROVIDERS[provider]
    server = servers[provider]
    server.begin(dialect())
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MANUS_MODEL", f"{provider}:{name}")
    monkeypatch.setenv("MANUS_BASE_URL", server.address)
    if provider == "bedrock":
        for variable, value in (
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", KEY),
            ("AWS_REGION", "us-west-2"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ):
            monkeypatch.setenv(variable, value)
    else:
        monkeypatch.setenv("MANUS_API_KEY", KEY)
    yield server
    assert server.unexpected == []
    assert server.replies == [], "left unused"


@pytest.fixture
def own_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that no other test has: its client finds its credentials anew."""
    monkeypatch.setenv("MANUS_TIMEOUT", str(next(_TIMEOUTS)))


@pytest_asyncio.fixture(loop_scope="session")
async def saver(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """Checkpoints in a file of the test's own."""
    async with open_sqlite(tmp_path / "threads.sqlite") as saver:
        yield saver


@pytest_asyncio.fixture(loop_scope="session")
async def agent(
    provider: str,
    asked: ProviderServer,
    saver: SqliteStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[ProvidedAgent]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    monkeypatch.chdir(tmp_path)
    none: Any = None
    made = ProvidedAgent(none, workspace, saver)
    made.provider, made.asked = provider, asked
    yield made
    await made.graph.close_waiting()
