"""An agent whose model is a provider's real client, with a scripted server of that provider."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from manus.config.context import Context
from manus.graph.outcome import Outcome
from manus.threads.sqlite import SqliteStore, open_sqlite
from tests.helpers.agent import ScriptedAgent, thread_config
from tests.providers.anthropic import Anthropic
from tests.providers.azure import Azure
from tests.providers.bedrock import Bedrock
from tests.providers.google import Google
from tests.providers.ollama import Ollama
from tests.providers.turns import Refusal, Said
from tests.server import Raw, Request, Scripted, ScriptedServer, raw

Dialect = Anthropic | Google | Bedrock | Azure | Ollama
PROVIDERS: dict[str, tuple[type[Dialect], str]] = {
    "anthropic": (Anthropic, "claude-scripted"),
    "google": (Google, "gemini-scripted"),
    "bedrock": (Bedrock, "anthropic.claude-3-5-sonnet-20240620-v1:0"),
    "azure": (Azure, "scripted"),
    "ollama": (Ollama, "qwen3"),
}
KEY = "sk-secret-of-tests"


def scripted(dialect: Dialect, turn: Said) -> Scripted:
    """Return the bytes of a reply in the provider's protocol."""

    def reply(request: Request) -> Raw:
        assert re.match(dialect.path, request.path), request.path
        assert "stream" in request.path.lower() or request.body.get("stream") is True, "always"
        if isinstance(turn, Refusal) and not turn.mid_stream:
            body, headers = dialect.refusal(turn)
            headers = {**headers, **turn.headers}
            return raw(json.dumps(body).encode(), turn.status, "application/json", headers)
        pieces = dialect.broken(turn) if isinstance(turn, Refusal) else dialect.stream(turn)
        return raw(b"".join(pieces), content_type=dialect.content_type)

    return reply


class ProvidedAgent(ScriptedAgent):
    """An agent on a provider's server; if `streamed`, its tokens are consumed."""

    provider: str
    streamed: bool = False

    async def ask(self, *replies: Said, thread: str = "t", **options: Any) -> Outcome:
        """Run the agent with the provider's replies."""
        await self.watch(*replies, thread=thread, **options)
        return await self.outcome(thread)

    async def watch(
        self, *replies: Said, thread: str = "t", **options: Any
    ) -> list[tuple[str, Any]]:
        """Return everything that a run streams."""
        dialect = PROVIDERS[self.provider][0]()
        self.server.script(*(scripted(dialect, reply) for reply in replies))
        # in a conversation a text ends the run
        context = Context(**{"workspace": str(self.workspace), "conversation": True, **options})
        modes = ["custom", "messages"] if self.streamed else ["custom"]
        stream: Any = self.graph.astream(
            {"request": "Do it."}, thread_config(thread), context=context, stream_mode=modes
        )
        return [part async for part in stream]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Use one event loop for all of these tests: creating the clients of a loop takes a second."""
    shared = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(shared, append=False)


@pytest.fixture(params=list(PROVIDERS))
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, ScriptedServer]]:
    """Provide a server for each provider."""
    by_provider = {provider: ScriptedServer(path="") for provider in PROVIDERS}
    yield by_provider
    for server in by_provider.values():
        server.close()


@pytest.fixture
def provider_server(
    provider: str, servers: dict[str, ScriptedServer], monkeypatch: pytest.MonkeyPatch
) -> Iterator[ScriptedServer]:
    """Provide the provider's server; the settings name it."""
    server = servers[provider]
    server.begin()
    server.strict = provider == "azure"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MANUS_MODEL", f"{provider}:{PROVIDERS[provider][1]}")
    monkeypatch.setenv("MANUS_BASE_URL", address(server))
    amazons = {"ACCESS_KEY_ID": "AKIDEXAMPLE", "SECRET_ACCESS_KEY": KEY, "REGION": "us-west-2"}
    if provider == "bedrock":
        for variable, value in {**amazons, "EC2_METADATA_DISABLED": "true"}.items():
            monkeypatch.setenv(f"AWS_{variable}", value)
    else:
        monkeypatch.setenv("MANUS_API_KEY", KEY)
    yield server
    server.verify()


def address(server: ScriptedServer) -> str:
    """Return its address, without a path."""
    return server.base_url.removesuffix("/v1")


@pytest_asyncio.fixture(loop_scope="session")
async def saver(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """Provide checkpoints in a file of the test's own."""
    async with open_sqlite(tmp_path / "threads.sqlite") as saver:
        yield saver


@pytest_asyncio.fixture(loop_scope="session")
async def agent(
    provider: str,
    provider_server: ScriptedServer,
    saver: SqliteStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[ProvidedAgent]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    monkeypatch.chdir(tmp_path)
    provided = ProvidedAgent(provider_server, workspace, saver)
    provided.provider = provider
    yield provided
    await provided.graph.close_waiting()
