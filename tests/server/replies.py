"""The elements of a script: replies, and the short functions that build them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal


class _Given(Enum):
    AUTO = "the server makes one up"
    ABSENT = "the field is left out"


AUTO: Final = _Given.AUTO
ABSENT: Final = _Given.ABSENT
"""As a call's id: the field is omitted from the reply, as some servers do."""

Usage = Mapping[str, Any]
UsageOption = Usage | None | Literal[_Given.AUTO]
IdOption = str | None | _Given


@dataclass(frozen=True)
class Call:
    """One tool call; `arguments` is the string that is sent, JSON or not."""

    name: str
    arguments: str
    id: IdOption = AUTO


@dataclass(frozen=True)
class Message:
    """An assistant message, streamed or whole, as the request demands."""

    content: str | None = None
    calls: tuple[Call, ...] = ()
    usage: UsageOption = AUTO
    finish_reason: str | None = None
    reasoning: str | None = None
    pace: float = 0.0


@dataclass(frozen=True)
class Cut:
    """The connection ends in the middle of `reply`; `hangs`: only when the server stops."""

    reply: Message
    after_chunks: int
    hangs: bool = False


@dataclass(frozen=True)
class Raw:
    body: bytes
    status: int
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)
    pace: float = 0.0
    """Seconds before each server-sent event; 0: all at once."""


Reply = Message | Cut | Raw


def text(
    content: str,
    *,
    usage: UsageOption = AUTO,
    finish_reason: str | None = None,
    reasoning: str | None = None,
    pace: float = 0.0,
) -> Message:
    """Reply with text.

    `usage`: what the server reports, by default a quarter of the bytes; None for a server that
    reports nothing. `reasoning` is sent as `reasoning_content`; `pace` are seconds before each
    chunk.
    """
    return Message(content, (), usage, finish_reason, reasoning, pace)


def call(
    name: str,
    arguments: Mapping[str, Any] | None = None,
    /,
    *,
    raw: str | None = None,
    id: IdOption = AUTO,  # noqa: A002
    **fields: Any,
) -> Call:
    """Make one tool call: a reply by itself, or a part of `calls`.

    `arguments` is for names that cannot be keywords here; `raw` is a string that is sent unchanged,
    malformed or empty. An id is generated; None is sent as null, ABSENT omits the field.
    """
    text = json.dumps({**(arguments or {}), **fields}, ensure_ascii=False)
    return Call(name, text if raw is None else raw, id)


def calls(
    *tool_calls: Call,
    text: str | None = None,
    usage: UsageOption = AUTO,
    finish_reason: str | None = None,
    reasoning: str | None = None,
) -> Message:
    """Make several tool calls in one message, or one with additional text or usage."""
    return Message(text, tool_calls, usage, finish_reason, reasoning)


def fail(
    status: int,
    *,
    code: str | None = None,
    message: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Raw:
    """Reply with an error, whose code and message are the API's own by default."""
    code = code or _CODES.get(status)
    kind = "requests" if status == 429 else "invalid_request_error"
    error = {
        "message": message or _MESSAGES.get(code or "", f"The server answered {status}."),
        "type": kind if status < 500 else "server_error",
        "param": "messages" if code == "context_length_exceeded" else None,
        "code": code,
    }
    return reply_json({"error": error}, status, headers)


def cut(after_chunks: int = 0, *, reply: Message | Call | None = None, hangs: bool = False) -> Cut:
    """End the connection in the middle of a reply, by default of a sentence.

    This many server-sent events are sent, at most all but the last; with 0 not even the status
    line. A reply that is not streamed is cut in half.
    """
    return Cut(as_message(reply) if reply else _SENTENCE, after_chunks, hangs)


def hang(*, reply: Message | Call | None = None, after_chunks: int = 0) -> Cut:
    """Stop sending at that point, until the server is closed."""
    return cut(after_chunks, reply=reply, hangs=True)


def raw(
    body: bytes,
    status: int = 200,
    content_type: str = "text/html; charset=utf-8",
    headers: Mapping[str, str] | None = None,
) -> Raw:
    """Reply with these bytes: a proxy's error page, a stream in another format."""
    return Raw(body, status, content_type, headers or {})


def reply_json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Raw:
    return raw(json.dumps(body).encode(), status, "application/json", headers)


def build_chunk(delta: Any, reason: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **fields}


def reply_stream(*chunks: Mapping[str, Any] | str, has_end: bool = True, pace: float = 0.0) -> Raw:
    """Reply with a stream of these chunks; a text is sent unchanged."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [
        c if isinstance(c, str) else f"data: {json.dumps({**head, **c}, ensure_ascii=False)}\n\n"
        for c in chunks
    ]
    ending = "data: [DONE]\n\n" if has_end else ""
    body = "".join([*events, ending]).encode()
    return Raw(body, 200, "text/event-stream", pace=pace)


def reply_message(reason: str = "stop", **message: Any) -> Raw:
    """Reply with a message in one piece, with arbitrary fields."""
    data = {"role": "assistant", "content": None, **message}
    choice = {"index": 0, "message": data, "finish_reason": reason}
    body = {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}
    return reply_json(body)


def tokens(prompt: int, completion: int, *, cached: int = 0, reasoning: int = 0) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def as_message(reply: Message | Call) -> Message:
    return Message(calls=(reply,)) if isinstance(reply, Call) else reply


_SENTENCE = Message("This sentence is long enough to be cut in its middle, more than once.")

_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}

_MESSAGES = {
    "invalid_api_key": "Incorrect API key provided: x. You can find your API key at your account.",
    "model_not_found": "The model `scripted` does not exist or you do not have access to it.",
    "rate_limit_exceeded": "Rate limit reached for requests. Please try again later.",
    "insufficient_quota": "You exceeded your current quota, please check your plan and billing.",
    "context_length_exceeded": (
        "This model's maximum context length is 128000 tokens. However, your messages resulted "
        "in 131072 tokens. Please reduce the length of the messages."
    ),
}
