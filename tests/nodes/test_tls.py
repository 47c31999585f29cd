"""Model servers behind TLS: whom a client trusts, and what is said if it does not."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

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


async def test_a_certificate_that_is_trusted(
    agent: ScriptedAgent,
    secure: ScriptedServer,
    authority: trustme.CA,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    behind = ScriptedAgent(secure, agent.workspace, agent.saver)
    assert (await behind.run(text("Safe."))).output == "Safe."


async def test_one_that_is_not(agent: ScriptedAgent, secure: ScriptedServer) -> None:
    outcome = await ScriptedAgent(secure, agent.workspace, agent.saver).run()
    assert outcome.stop_reason == "error"
    assert "unable to get local issuer" in outcome.output
    assert "SSL_CERT_FILE" in outcome.output
    assert not secure.requests


@pytest.mark.environ(SSL_CERT_FILE="/nowhere.pem")
async def test_what_no_client_can_be_made_with_is_said_at_once(agent: ScriptedAgent) -> None:
    events = await agent.events()
    assert not [event for event in events if event["type"] == "retry"]
    outcome = await agent.outcome()
    assert outcome.stop_reason == "error"
    assert "check SSL_CERT_FILE, SSL_CERT_DIR and the proxies" in outcome.output
