"""An assistant message as the API sends it: one body, or a stream of server-sent events."""

import itertools
import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from tests.server.replies import ABSENT, AUTO, Call, IdOption, Message, tokens
from tests.server.request import Json, Request

_PIECES = 8


class Ids:
    """Ids that no other server has given: `call_` and `chatcmpl-`, a prefix, a number."""

    def __init__(self) -> None:
        self._prefix = uuid.uuid4().hex[:8]
        self._numbers = itertools.count(1)

    def new(self, kind: str) -> str:
        """Give the next id."""
        return f"{kind}{self._prefix}{next(self._numbers):04}"


def frames(message: Message, request: Request, ids: Ids) -> list[bytes]:
    """Write the reply's bytes, in the pieces between which it may be cut or stall."""
    if request.stream:
        events = [json.dumps(chunk, ensure_ascii=False) for chunk in _chunks(message, request, ids)]
        return [f"data: {event}\n\n".encode() for event in (*events, "[DONE]")]
    whole = json.dumps(_body(message, request, ids), ensure_ascii=False).encode()
    return [whole[: len(whole) // 2], whole[len(whole) // 2 :]]


def _body(message: Message, request: Request, ids: Ids) -> Json:
    said: Json = {"role": "assistant", "content": message.content, "refusal": None}
    if message.reasoning is not None:
        said["reasoning_content"] = message.reasoning
    if message.calls:
        said["tool_calls"] = [_call(made, ids) for made in message.calls]
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": _reason(message)}
    usage = _usage(message, request)
    return {
        **_envelope("chat.completion", request, ids),
        "choices": [choice],
        **({} if usage is None else {"usage": usage}),
    }


def _chunks(message: Message, request: Request, ids: Ids) -> Iterator[Json]:
    envelope = _envelope("chat.completion.chunk", request, ids)
    usage = _usage(message, request) if request.include_usage else None
    if usage is not None:
        envelope["usage"] = None
    for delta in _deltas(message, ids):
        yield {**envelope, "choices": [_choice(delta, None)]}
    yield {**envelope, "choices": [_choice({}, _reason(message))]}
    if usage is not None:
        yield {**envelope, "choices": [], "usage": usage}


def _deltas(message: Message, ids: Ids) -> Iterator[Json]:
    yield {"role": "assistant", "content": None if message.content is None else "", "refusal": None}
    for piece in _pieces(message.reasoning or ""):
        yield {"reasoning_content": piece}
    for piece in _pieces(message.content or ""):
        yield {"content": piece}
    for index, made in enumerate(message.calls):
        opened = _call(made, ids)
        opened["function"]["arguments"] = ""
        yield {"tool_calls": [{"index": index, **opened}]}
        for piece in _pieces(made.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _envelope(kind: str, request: Request, ids: Ids) -> Json:
    return {
        "id": ids.new("chatcmpl-"),
        "object": kind,
        "created": int(time.time()),
        "model": request.model,
        "system_fingerprint": "fp_scripted",
    }


def _choice(delta: Json, reason: str | None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def _call(made: Call, ids: Ids) -> Json:
    function = {"name": made.name, "arguments": made.arguments}
    return {**_id(made.id, ids), "type": "function", "function": function}


def _id(option: IdOption, ids: Ids) -> Json:
    if option is ABSENT:
        return {}
    return {"id": ids.new("call_") if option is AUTO else option}


def _reason(message: Message) -> str:
    return message.finish_reason or ("tool_calls" if message.calls else "stop")


def _usage(message: Message, request: Request) -> dict[str, Any] | None:
    """Report what the script says, by default a token for every four bytes."""
    if message.usage is None:
        return None
    if message.usage is not AUTO:
        return dict(message.usage)
    said = [message.content or "", message.reasoning or ""]
    said += [made.name + made.arguments for made in message.calls]
    thought = len((message.reasoning or "").encode()) // 4
    spent = max(1, sum(len(part.encode()) for part in said) // 4)
    return tokens(max(1, len(request.raw) // 4), spent, reasoning=thought)


def _pieces(whole: str) -> list[str]:
    size = max(4, -(-len(whole) // _PIECES))
    return [whole[start : start + size] for start in range(0, len(whole), size)]
