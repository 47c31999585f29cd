"""Anthropic's Messages API."""

import itertools
import json
from collections.abc import Iterator

from tests.providers.turns import Json, Refusal, Turn, pieces, sse


class Anthropic:
    """Writes event streams."""

    content_type = "text/event-stream; charset=utf-8"
    path = "/v1/messages$"

    def __init__(self) -> None:
        self._ids = itertools.count(1)

    def stream(self, turn: Turn) -> list[bytes]:
        return [sse(event, event["type"]) for event in self._events(turn)]

    def refusal(self, refusal: Refusal) -> tuple[Json, dict[str, str]]:
        error = {"type": refusal.kind, "message": refusal.message}
        return {"type": "error", "error": error, "request_id": "req_1"}, {}

    def broken(self, refusal: Refusal) -> list[bytes]:
        start = self.stream(Turn(text="So"))[:3]
        body, _ = self.refusal(refusal)
        return [*start, sse(body, "error")]

    def _use(self, name: str, arguments: Json) -> Json:
        return {"type": "tool_use", "id": f"toolu_{next(self._ids)}", "name": name} | {
            "input": arguments
        }

    def _message(self, turn: Turn) -> Json:
        head = {"id": f"msg_{next(self._ids)}", "type": "message", "model": "claude-scripted"}
        message: Json = {"role": "assistant", "content": [], "usage": _usage(turn)}
        return {**head, **message, "stop_reason": None, "stop_sequence": None}

    def _events(self, turn: Turn) -> Iterator[Json]:
        yield {"type": "message_start", "message": self._message(turn)}
        parts = map(_in_deltas, turn.blocks) if turn.blocks else self._parts(turn)
        for place, (start, deltas) in enumerate(parts):
            yield from _block(place, start, deltas)
        if turn.silent:
            return
        delta = {"stop_reason": _reason(turn), "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": _usage(turn)}
        yield {"type": "message_stop"}

    def _parts(self, turn: Turn) -> Iterator[tuple[Json, list[Json]]]:
        if turn.text:
            yield _in_deltas({"type": "text", "text": turn.text})
        for number, (name, _) in enumerate(turn.calls):
            yield self._use(name, {}), _arguments(turn.arguments(number))


def _in_deltas(block: Json) -> tuple[Json, list[Json]]:
    kind = block["type"]
    if kind == "thinking":
        parts = [{"type": "thinking_delta", "thinking": p} for p in pieces(block["thinking"])]
        start = {"type": "thinking", "thinking": "", "signature": ""}
        return start, [*parts, {"type": "signature_delta", "signature": block["signature"]}]
    if kind == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        return {"type": "text", "text": ""}, deltas
    if kind == "tool_use":
        return {**block, "input": {}}, _arguments(json.dumps(block["input"]))
    return block, []


def _arguments(text: str) -> list[Json]:
    return [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(text)]]


def _block(index: int, start: Json, deltas: list[Json]) -> Iterator[Json]:
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _usage(turn: Turn) -> Json:
    """Return the usage; `input_tokens` excludes cached ones, and an event has the totals so far."""
    cached = {"cache_creation_input_tokens": turn.written, "cache_read_input_tokens": turn.cached}
    return {"input_tokens": 100, **cached, "output_tokens": 20}


def _reason(turn: Turn) -> str:
    if turn.at_limit:
        return "max_tokens"
    uses = turn.calls or [block for block in turn.blocks if block["type"] == "tool_use"]
    return "tool_use" if uses else "end_turn"
