"""Azure OpenAI: OpenAI's protocol, at the path of a deployment."""

import json

from tests.providers.turns import Json, Refusal, Turn, sse
from tests.server.replies import Call, Message, tokens
from tests.server.request import Request
from tests.server.wire import frames


class Azure:
    """Writes the same as the scripted server, and insists on the path."""

    content_type = "text/event-stream; charset=utf-8"
    path = r"/openai/deployments/[\w.-]+/chat/completions\?api-version="

    def refusal(self, refusal: Refusal) -> tuple[Json, dict[str, str]]:
        return {"error": {"code": str(refusal.status), "message": refusal.message}}, {}

    def broken(self, refusal: Refusal) -> list[bytes]:
        error = {"code": refusal.status, "message": refusal.message}
        return [*self.stream(Turn(text="So"))[:2], sse({"error": error})]

    def stream(self, turn: Turn) -> list[bytes]:
        calls = tuple(Call(name, turn.arguments(i)) for i, (name, _) in enumerate(turn.calls))
        reply = Message(
            turn.text or None,
            calls,
            usage=tokens(100, 20, cached=turn.cached),
            finish_reason="length" if turn.at_limit else None,
        )
        body = {"stream": True, "stream_options": {"include_usage": True}}
        data = frames(reply, Request(json.dumps(body).encode()))
        return data[:-3] if turn.silent else data  # finish reason, usage, end
