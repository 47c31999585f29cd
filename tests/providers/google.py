"""Google's Gemini API over REST."""

from tests.providers.turns import Json, Refusal, Turn, pieces, sse


class Google:
    """Writes versions v1beta and v1, where arguments are objects and never arrive in chunks."""

    content_type = "text/event-stream"
    path = "/v1(beta)?/models/gemini-scripted:streamGenerateContent"

    def stream(self, turn: Turn) -> list[bytes]:
        parts = [[part] for part in turn.blocks]
        parts = parts or [*([{"text": piece}] for piece in pieces(turn.text)), _calls(turn)]
        *before, last = parts
        events = [_said(turn, part, last=False) for part in before]
        return [sse(event) for event in [*events, _said(turn, last, last=True)]]

    def refusal(self, refusal: Refusal) -> tuple[Json, dict[str, str]]:
        error = {"code": refusal.status, "message": refusal.message, "status": refusal.kind}
        return {"error": {**error, "details": list(refusal.details)}}, {}

    def broken(self, refusal: Refusal) -> list[bytes]:
        return [self.stream(Turn(text="So far so good"))[0], sse(self.refusal(refusal)[0])]


def _calls(turn: Turn) -> list[Json]:
    return [{"functionCall": {"name": name, "args": args}} for name, args in turn.calls]


def _said(turn: Turn, parts: list[Json], *, last: bool) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if last and not turn.silent:
        candidate["finishReason"] = "MAX_TOKENS" if turn.at_limit else "STOP"
    usage = {"promptTokenCount": 100, "cachedContentTokenCount": turn.cached}
    usage |= {"candidatesTokenCount": 20, "totalTokenCount": 120}
    chunk = {"candidates": [candidate], "modelVersion": "gemini-scripted", "responseId": "r1"}
    return {**chunk, "usageMetadata": usage} if last else chunk
