"""Bedrock's Converse API; its streams are AWS's binary event streams."""

import itertools
import json
import struct
from binascii import crc32
from collections.abc import Iterator

from tests.providers.turns import Json, Refusal, Turn, pieces


class Bedrock:
    """Writes `converse-stream`."""

    content_type = "application/vnd.amazon.eventstream"
    path = r"/model/anthropic\.claude-[\w-]+-v1:0/converse-stream$"

    def __init__(self) -> None:
        self._ids = itertools.count(1)

    def stream(self, turn: Turn) -> list[bytes]:
        return [frame(kind, body) for kind, body in self._events(turn)]

    def refusal(self, refusal: Refusal) -> tuple[Json, dict[str, str]]:
        return {"message": refusal.message}, {"x-amzn-ErrorType": refusal.kind}

    def broken(self, refusal: Refusal) -> list[bytes]:
        kind = refusal.kind[:1].lower() + refusal.kind[1:]
        start = self.stream(Turn(text="So"))[:2]
        return [*start, frame(kind, {"message": refusal.message}, message="exception")]

    def _use(self, name: str) -> Json:
        return {"toolUseId": f"tooluse_{next(self._ids)}", "name": name}

    def _events(self, turn: Turn) -> Iterator[tuple[str, Json]]:
        yield "messageStart", {"role": "assistant"}
        parts = map(_in_deltas, turn.blocks) if turn.blocks else self._parts(turn)
        for place, (start, deltas) in enumerate(parts):
            if start:
                yield "contentBlockStart", {"contentBlockIndex": place, "start": start}
            for delta in deltas:
                yield "contentBlockDelta", {"contentBlockIndex": place, "delta": delta}
            yield "contentBlockStop", {"contentBlockIndex": place}
        if not turn.silent:
            yield "messageStop", {"stopReason": _reason(turn)}
            yield "metadata", _metadata(turn)

    def _parts(self, turn: Turn) -> Iterator[tuple[Json, list[Json]]]:
        if turn.text:
            yield {}, [{"text": piece} for piece in pieces(turn.text)]
        for number, (name, _) in enumerate(turn.calls):
            yield {"toolUse": self._use(name)}, _arguments(turn.arguments(number))


def _in_deltas(block: Json) -> tuple[Json, list[Json]]:
    if reasoning := block.get("reasoningContent", {}).get("reasoningText"):
        deltas = [{"reasoningContent": {"text": piece}} for piece in pieces(reasoning["text"])]
        return {}, [*deltas, {"reasoningContent": {"signature": reasoning["signature"]}}]
    if use := block.get("toolUse"):
        start = {k: use[k] for k in ("toolUseId", "name")}
        return {"toolUse": start}, _arguments(json.dumps(use["input"]))
    return {}, [block]


def _arguments(text: str) -> list[Json]:
    return [{"toolUse": {"input": piece}} for piece in pieces(text)]


def _reason(turn: Turn) -> str:
    if turn.at_limit:
        return "max_tokens"
    uses = turn.calls or [block for block in turn.blocks if "toolUse" in block]
    return "tool_use" if uses else "end_turn"


def _metadata(turn: Turn) -> Json:
    total = 120 + turn.cached + turn.written
    usage: Json = {"inputTokens": 100, "outputTokens": 20, "totalTokens": total}
    usage |= {"cacheReadInputTokens": turn.cached, "cacheWriteInputTokens": turn.written}
    return {"usage": usage, "metrics": {"latencyMs": 1}}


def frame(kind: str, body: Json, message: str = "event") -> bytes:
    """Return one message of an event stream."""
    values = {
        f":{message}-type": kind,
        ":content-type": "application/json",
        ":message-type": message,
    }
    headers = b"".join(_header(name, value) for name, value in values.items())
    payload = json.dumps(body).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    head = prelude + struct.pack("!I", crc32(prelude)) + headers + payload
    return head + struct.pack("!I", crc32(head))


def _header(name: str, value: str) -> bytes:
    data = value.encode()
    return struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(data)) + data
