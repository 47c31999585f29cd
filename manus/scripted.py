"""A model that follows a script, for notebooks and tests of your own.

It is a server on this machine that speaks OpenAI's protocol:
`Context(model="script", base_url=model.base_url)`. It thinks of nothing: each request gets the next
reply of its script.
"""

from __future__ import annotations

import json
import uuid
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

Reply = dict[str, Any]
"""A reply: its message, and the tokens it is said to have used."""


def text(said: str, *, used: tuple[int, int] = (100, 20)) -> Reply:
    """A reply of words alone. `used`: tokens in and out."""
    return {"message": {"role": "assistant", "content": said}, "used": used}


def call(name: str, **arguments: Any) -> Reply:
    """A tool call: a reply that says nothing, or a part of `calls`."""
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return calls({"id": f"call_{uuid.uuid4().hex[:8]}", "type": "function", "function": function})


def calls(*made: Any, text: str | None = None, used: tuple[int, int] = (100, 20)) -> Reply:
    """A reply with several calls, or with words beside them."""
    called = [one["message"]["tool_calls"][0] if "message" in one else one for one in made]
    return {"message": {"role": "assistant", "content": text, "tool_calls": called}, "used": used}


class ScriptedModel:
    """Serves replies until it is closed."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        """The bodies of all requests so far."""
        self._queues: list[tuple[str, deque[Reply]]] = [("", deque())]
        self._lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def script(self, *replies: Reply) -> None:
        """Add replies."""
        self.when("", *replies)

    def when(self, words: str, *replies: Reply) -> None:
        """Add replies to requests in which these words stand; they come before all others."""
        with self._lock:
            for known, queue in self._queues:
                if known == words:
                    queue.extend(replies)
                    return
            self._queues.insert(-1, (words, deque(replies)))

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()

    def take(self, request: dict[str, Any]) -> Reply | None:
        """The next reply to a request; None when the script has none."""
        said = json.dumps(request["messages"], ensure_ascii=False)
        with self._lock:
            self.requests.append(request)
            fitting = (q for words, q in self._queues if q and json.dumps(words)[1:-1] in said)
            queue = next(fitting, None)
            return queue.popleft() if queue else None


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            request = json.loads(self.rfile.read(size))
            reply = model.take(request)
            if reply is None:
                self._send(400, "application/json", {"error": {"message": "the script is over"}})
            elif request.get("stream"):
                self._send(200, "text/event-stream", _body(reply, "delta"))
            else:
                self._send(200, "application/json", _body(reply, "message"))

        def _send(self, status: int, kind: str, body: dict[str, Any]) -> None:
            packed = json.dumps(body)
            data = f"data: {packed}\n\ndata: [DONE]\n\n" if kind == "text/event-stream" else packed
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data.encode())

        def log_message(self, *said: Any) -> None:
            """Nothing: stderr is the reader's."""

    return Handler


def _body(reply: Reply, name: str) -> dict[str, Any]:
    """A whole completion, or the one piece of a stream."""
    message = reply["message"]
    made = [{"index": n, **one} for n, one in enumerate(message.get("tool_calls", []))]
    given, gave = reply["used"]
    choice = {
        "index": 0,
        name: {**message, "tool_calls": made} if made else message,
        "finish_reason": "tool_calls" if made else "stop",
    }
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex[:8]}",
        "object": "chat.completion.chunk" if name == "delta" else "chat.completion",
        "created": 0,
        "model": "script",
        "choices": [choice],
        "usage": {"prompt_tokens": given, "completion_tokens": gave, "total_tokens": given + gave},
    }
