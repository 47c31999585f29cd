"""Ollama's own API (docs/api.md of ollama/ollama): `/api/chat` sends one JSON object per line."""

import json

from tests.providers.turns import Json, Refusal, Turn, pieces


class Ollama:
    """Writes version 0.12: calls arrive whole, in one line before the last."""

    content_type = "application/x-ndjson"
    path = "/api/chat"

    def stream(self, turn: Turn) -> list[bytes]:
        lines = [_line({"content": piece}) for piece in pieces(turn.text)]
        if turn.calls:
            lines.append(_line({"content": "", "tool_calls": _calls(turn)}))
        return lines if turn.silent else [*lines, _last(turn)]

    def refusal(self, refusal: Refusal) -> tuple[Json, dict[str, str]]:
        return {"error": refusal.message}, {}

    def broken(self, refusal: Refusal) -> list[bytes]:
        error = json.dumps({"error": refusal.message}).encode() + b"\n"
        return [*self.stream(Turn(text="So far so good", silent=True)), error]


def _calls(turn: Turn) -> list[Json]:
    return [{"function": {"name": name, "arguments": args}} for name, args in turn.calls]


def _line(message: Json, **fields: object) -> bytes:
    head = {"model": "qwen3", "created_at": "2026-03-01T10:00:00.0Z"}
    body = {**head, "message": {"role": "assistant", **message}, "done": False, **fields}
    return json.dumps(body, ensure_ascii=False).encode() + b"\n"


def _last(turn: Turn) -> bytes:
    return _line(
        {"content": ""},
        done=True,
        done_reason="length" if turn.at_limit else "stop",
        total_duration=4_883_583_458,
        load_duration=1_334_875,
        prompt_eval_count=100,
        prompt_eval_duration=342_546_000,
        eval_count=20,
        eval_duration=4_535_599_000,
    )
