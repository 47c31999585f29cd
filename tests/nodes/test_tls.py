"""Model servers behind TLS: whom a client trusts, and what is said if it does not."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from manus.state.browser_settings import EgressSettings
from manus.tools.web.egress import EgressRules
from manus.tools.web.egress_proxy import EgressProxy
from tests.helpers.agent import ScriptedAgent
from tests.server import ScriptedServer, text


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """A certificate authority that no machine trusts by itself."""
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[ScriptedServer]:
    """A server with a certificate of that authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with ScriptedServer(tls=context) as server:
        yield server
    server.verify()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The authority's certificate, named by the environment."""
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    return path


def behind(agent: ScriptedAgent, server: ScriptedServer) -> ScriptedAgent:
    return ScriptedAgent(server, agent.workspace, agent.saver)


async def test_a_certificate_that_is_trusted(
    agent: ScriptedAgent, secure: ScriptedServer, trusted: Path
) -> None:
    assert (await behind(agent, secure).run(text("Safe."))).output == "Safe."


async def test_one_that_is_not(agent: ScriptedAgent, secure: ScriptedServer) -> None:
    outcome = await behind(agent, secure).run()
    assert outcome.stop_reason == "error"
    assert "unable to get local issuer" in outcome.output
    assert "SSL_CERT_FILE" in outcome.output
    assert not secure.requests


@pytest.mark.parametrize(
    ("name", "value"), [("SSL_CERT_FILE", "/nowhere.pem"), ("ALL_PROXY", "nonsense://proxy")]
)
async def test_what_no_client_can_be_made_with_is_said_at_once(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    events = await agent.events()
    assert not [event for event in events if event["type"] == "retry"]
    outcome = await agent.outcome()
    assert outcome.stop_reason == "error"
    assert "check SSL_CERT_FILE, SSL_CERT_DIR and the proxies" in outcome.output


async def test_it_is_reached_through_a_proxy(
    agent: ScriptedAgent,
    secure: ScriptedServer,
    trusted: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    rules = EgressRules(EgressSettings(allow_private=("127.0.0.1",)))
    proxy = await EgressProxy.start(rules)
    try:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        warned = "langchain_openai.chat_models._client_utils._proxy_env_warning_emitted"
        monkeypatch.setattr(warned, False)  # it is said once a process
        monkeypatch.setenv("MANUS_RETRY_FOR", "0")
        assert (await behind(agent, secure).run(text("Safe."))).output == "Safe."
        assert "proxy" not in caplog.text, "nothing hides it"
        await proxy.close()
        alone = behind(agent, secure)
        outcome = await alone.run(thread="without")
        await alone.graph.close_waiting()  # a run whose model is away waits
        assert "cannot be reached" in outcome.output, "it had gone that way"
    finally:
        await proxy.close()
