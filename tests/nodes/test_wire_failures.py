"""Servers that break off anywhere, that send comments for ever, and that nobody trusts."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from langchain_core.messages import AIMessage, HumanMessage

from manus.models.providers import build_model
from manus.models.tool_calls import with_repairs
from manus.state.messages import calls_of, is_cut_off
from manus.state.model_settings import ModelSettings
from tests.helpers.agent import ScriptedAgent
from tests.server import ScriptedServer, raw, said, stream_of, text

WORDS = "Grüße, 世界\u2028😀\x85."
LINE = "ein Gruß 世"
SSE = "text/event-stream"
ARGUMENTS = json.dumps({"path": "a", "line": LINE}, ensure_ascii=False)


def piece(**function: str) -> dict[str, Any]:
    return said({"tool_calls": [{"index": 0, "function": function}]})


TALK = stream_of(said({"content": WORDS[:5]}), said({"content": WORDS[5:]}), said({}, "stop")).body
CALL = stream_of(
    piece(name="append", arguments=ARGUMENTS[:9]),
    piece(arguments=ARGUMENTS[9:]),
    said({}, "tool_calls"),
).body


async def heard(model: Any) -> AIMessage | None:
    """The reply, with its calls as a run would have them; None if it failed."""
    try:
        message: AIMessage = await model.ainvoke([HumanMessage("Hi.")])
    except Exception:  # noqa: BLE001 - however it fails
        return None
    return with_repairs(message)


@pytest.mark.parametrize("body", [TALK, CALL], ids=["text", "a call"])
async def test_a_stream_that_is_cut_anywhere(server: ScriptedServer, body: bytes) -> None:
    """In a character, in an event, between two: no half of it is taken for the whole."""
    cuts = range(0, len(body), 9)
    server.script(*(raw(body[:cut], content_type=SSE) for cut in cuts))
    model = await build_model(ModelSettings(model="m", base_url=server.base_url), Path())
    whole_ones = 0
    for cut in cuts:
        reply = await heard(model)
        if reply is None or is_cut_off(reply):
            continue
        whole_ones += 1
        if body is TALK:
            assert reply.text == WORDS, body[:cut]
        else:
            assert [call["args"] for call in calls_of(reply)] == [{"path": "a", "line": LINE}]
    assert 0 < whole_ones < 25, "those cut after the reply's end was told"


async def test_comments_that_keep_a_connection_open_are_silence(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = asyncio.Event()

    async def comment(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {SSE}\r\n\r\n".encode())
        with contextlib.suppress(OSError):
            while not reader.at_eof():  # the client has gone
                writer.write(b": OPENROUTER PROCESSING\n\n")
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        ended.set()

    monkeypatch.setenv("MANUS_TIMEOUT", "0.5")
    monkeypatch.setenv("MANUS_RETRY_FOR", "0")
    async with await asyncio.start_server(comment, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        outcome = await agent.run(base_url=f"http://127.0.0.1:{port}/v1")
        assert "said nothing for too long" in outcome.output
        await ended.wait()


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
