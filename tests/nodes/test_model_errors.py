"""What a failed model call means, as tables; the errors are those of the real client."""

import pytest

from manus.models.errors import explain
from manus.models.retry import server_wait
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from manus.state.model_settings import ModelSettings
from tests.helpers.agent import ScriptedAgent
from tests.helpers.failure import failure_of
from tests.server import Hang, Scripted, ScriptedServer, cut, fail, hang, raw, text

HTML = b"<html><body><h1>Bad gateway</h1></body></html>"


async def failure(address: str, streamed: bool, *, timeout: float = 30.0) -> Exception:
    """What the real client raises."""
    settings = ModelSettings(model="scripted", base_url=address, timeout=timeout)
    return await failure_of(settings, streamed=streamed)


async def explained(server: ScriptedServer, reply: Scripted, streamed: bool) -> ModelError:
    server.script(reply)
    patience = 1.0 if isinstance(reply, Hang) else 30.0
    error = await failure(server.base_url, streamed, timeout=patience)
    return explain(error, ModelSettings(model="scripted", base_url="there"))


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
    (raw(HTML, 403), ModelRefusedError, "a page came back (403); check whether"),
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
        found = explain(error, ModelSettings(model="scripted", base_url=address))
        assert type(found) is kind
        assert words in str(found)
        assert "MANUS_BASE_URL" in str(found)


WAITS: list[tuple[dict[str, str], float | None]] = [
    ({"Retry-After": "2"}, 2.0),
    ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
    ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ({"Retry-After": "nan"}, None),
    ({"Retry-After": "soon"}, None),
    ({"Retry-After": "9" * 400}, None),
    ({}, None),
]


@pytest.mark.parametrize(("headers", "wait"), WAITS)
async def test_the_header(
    server: ScriptedServer, headers: dict[str, str], wait: float | None
) -> None:
    server.script(fail(429, headers=headers))
    assert server_wait(await failure(server.base_url, False)) == wait


@pytest.mark.parametrize("value", ["0", "Wed, 21 Oct 2015 07:28:00 GMT"])
async def test_no_wait_is_not_taken_at_its_word(agent: ScriptedAgent, value: str) -> None:
    """All the tries would be made at once: they are made after waits of our own, which grow."""
    busy = fail(503, headers={"Retry-After": value})
    events = await agent.events(busy, busy, text("Now."))
    first, second = [event["wait"] for event in events if event["type"] == "retry"]
    assert 0.025 <= first <= 0.05 <= second <= 0.1
