"""An assistant message in the API's format: one body, or a stream of server-sent events."""

import itertools
import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from tests.server.replies import ABSENT, AUTO, Call, Message, tokens
from tests.server.request import Json, Request

_PIECES = 8


_PREFIX, _NUMBERS = uuid.uuid4().hex[:8], itertools.count(1)


def new_id(kind: str) -> str:
    """Return a unique id: a prefix, `call_` or `chatcmpl-`, and a number."""
    return f"{kind}{_PREFIX}{next(_NUMBERS):04}"


def frames(message: Message, request: Request) -> list[bytes]:
    """Return the reply's bytes, in the chunks between which it may be cut or stall."""
    if request.stream:
        events = [json.dumps(chunk, ensure_ascii=False) for chunk in _chunks(message, request)]
        return [f"data: {event}\n\n".encode() for event in (*events, "[DONE]")]
    text = json.dumps(_body(message, request), ensure_ascii=False).encode()
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def _body(message: Message, request: Request) -> Json:
    body: Json = {"role": "assistant", "content": message.content, "refusal": None}
    if message.reasoning is not None:
        body["reasoning_content"] = message.reasoning
    if message.calls:
        body["tool_calls"] = [_call(call) for call in message.calls]
    choice = {"index": 0, "message": body, "logprobs": None, "finish_reason": _reason(message)}
    usage = _usage(message, request)
    return {
        **_envelope("chat.completion", request),
        "choices": [choice],
        **({} if usage is None else {"usage": usage}),
    }


def _chunks(message: Message, request: Request) -> Iterator[Json]:
    envelope = _envelope("chat.completion.chunk", request)
    usage = _usage(message, request) if request.include_usage else None
    if usage is not None:
        envelope["usage"] = None
    for delta in _deltas(message):
        yield {**envelope, "choices": [_choice(delta, None)]}
    yield {**envelope, "choices": [_choice({}, _reason(message))]}
    if usage is not None:
        yield {**envelope, "choices": [], "usage": usage}


def _deltas(message: Message) -> Iterator[Json]:
    yield {"role": "assistant", "content": None if message.content is None else "", "refusal": None}
    for piece in _pieces(message.reasoning or ""):
        yield {"reasoning_content": piece}
    for piece in _pieces(message.content or ""):
        yield {"content": piece}
    for index, call in enumerate(message.calls):
        entry = _call(call)
        entry["function"]["arguments"] = ""
        yield {"tool_calls": [{"index": index, **entry}]}
        for piece in _pieces(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _envelope(kind: str, request: Request) -> Json:
    return {
        "id": new_id("chatcmpl-"),
        "object": kind,
        "created": int(time.time()),
        "model": request.model,
        "system_fingerprint": "fp_scripted",
    }


def _choice(delta: Json, reason: str | None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def _call(call: Call) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    entry = {"id": new_id("call_") if call.id is AUTO else call.id}
    return {**({} if call.id is ABSENT else entry), "type": "function", "function": function}


def _reason(message: Message) -> str:
    return message.finish_reason or ("tool_calls" if message.calls else "stop")


def _usage(message: Message, request: Request) -> dict[str, Any] | None:
    """Return the usage in the script, by default one token for every four bytes."""
    if message.usage is None:
        return None
    if message.usage is not AUTO:
        return dict(message.usage)
    texts = [message.content or "", message.reasoning or ""]
    texts += [call.name + call.arguments for call in message.calls]
    reasoning_tokens = len((message.reasoning or "").encode()) // 4
    spent = max(1, sum(len(part.encode()) for part in texts) // 4)
    return tokens(max(1, len(request.raw) // 4), spent, reasoning=reasoning_tokens)


def _pieces(text: str) -> list[str]:
    size = max(4, -(-len(text) // _PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]
