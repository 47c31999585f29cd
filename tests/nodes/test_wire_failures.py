"""What no well-behaved server does on the wire: bytes that break off, redirects, closed doors."""

import asyncio
import contextlib
import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
)

from manus.models.providers import build_model
from manus.models.tool_calls import with_repairs
from manus.state.messages import calls_of, is_cut_off
from manus.state.model_settings import ModelSettings
from tests.helpers.agent import ScriptedAgent
from tests.helpers.raw_server import Answer, RawServer

WORDS = "Grüße, 世界\u2028😀\x85."
LINE = "ein Gruß 世"
SSE = "text/event-stream"
APPEND = {"type": "function", "function": {"name": "append", "parameters": {"type": "object"}}}


def http(
    body: bytes,
    kind: str = "application/json",
    *more: str,
    status: str = "200 OK",
    version: str = "1.1",
    has_length: bool = True,
) -> bytes:
    """A whole answer; one without a length ends with the connection."""
    fields = [f"HTTP/{version} {status}", f"Content-Type: {kind}", "Connection: close", *more]
    fields += [f"Content-Length: {len(body)}"] if has_length else []
    return "\r\n".join([*fields, "", ""]).encode() + body


def whole() -> bytes:
    message = {"role": "assistant", "content": WORDS}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}
    return json.dumps(body, ensure_ascii=False).encode()


def events(*deltas: Any, reason: str = "stop") -> bytes:
    """A stream of these, with why it ended and its end."""
    said = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    said.append({"index": 0, "delta": {}, "finish_reason": reason})
    chunks = [json.dumps({"choices": [one]}, ensure_ascii=False) for one in said]
    return "".join(f"data: {chunk}\n\n" for chunk in (*chunks, "[DONE]")).encode()


TALK = events({"role": "assistant", "content": WORDS[:5]}, {"content": WORDS[5:]})
ARGUMENTS = json.dumps({"path": "a", "line": LINE}, ensure_ascii=False)


def piece(**function: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": function}]}


CALL = events(
    piece(name="append", arguments=ARGUMENTS[:9]),
    piece(arguments=ARGUMENTS[9:]),
    reason="tool_calls",
)


@contextmanager
def serving(*answers: Answer) -> Iterator[RawServer]:
    server = RawServer(*answers)
    try:
        yield server
    finally:
        server.close()


async def heard(model: Any) -> AIMessage | None:
    """The reply, with its calls as a run would have them; None if it failed."""
    try:
        message: AIMessage = await model.ainvoke([HumanMessage("Hi.")])
    except Exception:  # noqa: BLE001 - however it fails
        return None
    return with_repairs(message)


@pytest.mark.parametrize(
    ("body", "has_length"),
    [(TALK, False), (CALL, True)],
    ids=["text", "a call, and a length"],
)
async def test_a_stream_that_is_cut_anywhere(body: bytes, has_length: bool) -> None:
    """In a character, in an event, between two: no half of it is taken for the whole."""
    cuts = range(0, len(body), 9)
    answer = http(body, SSE, has_length=has_length)
    head = len(answer) - len(body)
    with serving(*(Answer([answer[: head + cut]]) for cut in cuts)) as server:
        model = await build_model(ModelSettings(model="m", base_url=server.base_url), Path())
        replies = [await heard(model) for _ in cuts]
    whole_ones = 0
    for cut, reply in zip(cuts, replies, strict=True):
        if reply is None:
            continue
        whole_ones += not is_cut_off(reply)
        if body is TALK:
            assert is_cut_off(reply) or reply.text == WORDS, body[:cut]
        for call in reply.tool_calls:
            assert call["args"] == {"path": "a", "line": LINE}, body[:cut]
        assert is_cut_off(reply) or body is TALK or len(calls_of(reply)) == 1, body[:cut]
    if not has_length:
        assert 0 < whole_ones < 25, "those cut after the reply's end was told"


ODD: dict[str, list[Answer]] = {
    "HTTP/1.0": [Answer([http(whole(), version="1.0", has_length=False)])],
    "HTTP/1.0, streamed": [Answer([http(TALK, SSE, version="1.0", has_length=False)])],
    "after a hint": [Answer([b"HTTP/1.1 103 Early Hints\r\n\r\n", http(whole())])],
    "compressed": [Answer([http(gzip.compress(TALK), SSE, "Content-Encoding: gzip")])],
    "moved": [
        Answer([http(b"", "text/plain", "Location: /v2/chat", status="308 Moved")]),
        Answer([http(TALK, SSE)]),
    ],
}
PASSING: dict[str, Answer] = {
    "no gzip": Answer([http(b"no", "text/plain", "Content-Encoding: gzip")]),
    "half of a gzip": Answer([http(gzip.compress(TALK)[:-30], SSE, "Content-Encoding: gzip")]),
    "too short": Answer([http(whole())[:-20]]),
    "reset": Answer([], "reset"),
    "reset in the middle": Answer([http(whole())[:-20]], "reset"),
    "no HTTP": Answer([b"hello\r\n\r\n"]),
    "no chunk": Answer([http(b"zz\r\n", SSE, "Transfer-Encoding: chunked")]),
    "nothing": Answer([b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"]),
    "a page of a proxy": Answer([http(b"<html>502</html>", "text/html", status="502 No")]),
}


async def test_odd_but_whole(agent: ScriptedAgent) -> None:
    for name, answers in ODD.items():
        with serving(*answers) as server:
            outcome = await agent.run(thread=name, base_url=server.base_url)
            assert (outcome.stop_reason, outcome.output) == ("answered", WORDS), name
            assert len(server.requests) == len(answers), "none is asked again"
            assert len(set(server.requests)) == 1, "what was moved is sent there whole"


async def test_broken_and_asked_again(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_RETRY_FOR", "60")
    monkeypatch.setattr("manus.models.retry.FIRST_WAIT", 0.001)
    with serving(*PASSING.values(), Answer([http(TALK, SSE)])) as server:
        outcome = await agent.run(base_url=server.base_url)
        assert (outcome.stop_reason, outcome.output) == ("answered", WORDS)
        assert len(server.requests) == len(PASSING) + 1


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
