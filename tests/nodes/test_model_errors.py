"""What a failed model call means, as tables; the errors are those of the real client."""

import pytest

from manus.models.errors import explain
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from manus.state.model_settings import ModelSettings
from tests.helpers.failure import failure_of
from tests.server import Hang, Scripted, ScriptedServer, cut, fail, hang, raw

HTML = b"<html><body><h1>Bad gateway</h1></body></html>"


async def failure(address: str, streamed: bool, *, timeout: float = 30.0) -> Exception:
    """What the real client raises."""
    settings = ModelSettings(model="scripted", base_url=address, timeout=timeout)
    return await failure_of(settings, streamed=streamed)


async def explained(server: ScriptedServer, reply: Scripted, streamed: bool) -> ModelError:
    server.script(reply)
    patience = 1.0 if isinstance(reply, Hang) else 30.0
    error = await failure(server.base_url, streamed, timeout=patience)
    return explain(error, model="scripted", address="there")


Kind = type[ModelError]
TABLE: list[tuple[Scripted, Kind, str]] = [
    (fail(401), ModelRefusedError, "refused the key (401)"),
    (fail(403), ModelRefusedError, "there refused the key (403)"),
    (fail(404), ModelRefusedError, "does not know the model `scripted`"),
    (fail(400, message="Bad thing."), ModelRefusedError, "refused the request (400): Bad thing."),
    (fail(422, message="Bad thing."), ModelRefusedError, "refused the request (422): Bad thing."),
    (fail(402, message="Pay."), ModelRefusedError, "no credit left: Pay."),
    (fail(429, code="insufficient_quota"), ModelRefusedError, "no credit left: You exceeded"),
    (fail(429), ModelUnavailableError, "limits the rate of requests (429)"),
    (fail(408), ModelUnavailableError, "failed (408)"),
    (fail(409), ModelUnavailableError, "failed (409)"),
    (fail(500, message="Sorry."), ModelUnavailableError, "failed (500): Sorry."),
    (fail(503), ModelUnavailableError, "failed (503)"),
    (fail(529, message="Overloaded"), ModelUnavailableError, "failed (529): Overloaded"),
    (fail(400, code="context_length_exceeded"), ContextOverflowError, "window of `scripted`"),
    (fail(400, message="prompt is too long: 9 tokens"), ContextOverflowError, "prompt is too long"),
    (fail(413, message="maximum context is 9"), ContextOverflowError, "maximum context is 9"),
    (fail(400, message="the request exceeds the available context size"), ContextOverflowError, ""),
    (raw(HTML, 502), ModelUnavailableError, "failed (502)"),
    (raw(HTML, 403), ModelRefusedError, "a page came back (403): Bad gateway; check whether"),
    (raw(HTML, 200), ModelRefusedError, "no chat reply"),
    (raw(b"", 200, "application/json"), ModelUnavailableError, "no reply in it"),
    (raw(b'{"choices": []}', 200, "application/json"), ModelUnavailableError, "no reply in it"),
    (raw(b'{"choices": null}', 200, "application/json"), ModelUnavailableError, "no reply in it"),
    (raw(b"[1]", 200, "application/json"), ModelRefusedError, "no chat reply"),
    (cut(0), ModelUnavailableError, "there broke the connection off: Server disconnected"),
    (cut(1), ModelUnavailableError, "there broke the connection off: "),
    (hang(), ModelUnavailableError, "there said nothing for too long"),
]


@pytest.mark.parametrize(("reply", "kind", "words"), TABLE)
async def test_the_sentence(
    server: ScriptedServer, reply: Scripted, kind: Kind, words: str
) -> None:
    found = await explained(server, reply, True)
    assert type(found) is kind
    assert words in str(found)
    assert "\n" not in str(found)


async def test_a_stream_that_falls_silent_is_a_time_out(server: ScriptedServer) -> None:
    found = await explained(server, hang(after_chunks=2), True)
    assert isinstance(found, ModelUnavailableError)
    assert "said nothing" in str(found)


@pytest.mark.parametrize(
    ("address", "kind", "words"),
    [
        ("http://127.0.0.1:9/v1", ModelUnavailableError, "cannot be reached"),
        ("http://no.such.host.invalid/v1", ModelUnavailableError, "cannot be reached"),
        ("localhost:8000", ModelRefusedError, "this is not an address"),
        ("nonsense", ModelRefusedError, "this is not an address"),
    ],
)
async def test_nobody_there(address: str, kind: Kind, words: str) -> None:
    for streamed in (False, True):
        error = await failure(address, streamed)
        found = explain(error, model="scripted", address=address)
        assert type(found) is kind
        assert words in str(found)
        assert "MANUS_BASE_URL" in str(found)
