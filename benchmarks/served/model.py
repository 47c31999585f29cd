"""A scripted model on loopback that counts the requests that it answers more than once.

The request of a run identifies it: `run NAME of N calls`, then optionally `asking at M`, or
`in S steps` for a flow. The state of the run is derived from the tool messages of each request, so
a repeated request gets the same answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

_RUN = re.compile(r"run (?P<name>[\w.-]+) of (?P<calls>\d+) calls(?: asking at (?P<asks>\d+))?")
_STEPS = re.compile(r" in (\d+) steps")
_CURRENT_STEP = re.compile(r"Your step is number \d+: (.*)")
_DOUBTS = ("may have taken effect", "its outcome is unknown")
_PLANNER = "You plan work that others carry out"
_SUMMARY = "You summarize finished work"
Message = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What the model reads in a chat request."""

    name: str
    calls: int
    asks_at: int
    steps: int
    results: int
    """Number of tool messages."""
    role: str
    """One of `agent`, `planner`, `step`, `summary`."""


class ModelServer:
    """The scripted model, in the event loop of the benchmark."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, str, int]] = Counter()
        """Number of answers for each combination of run, role and number of tool messages."""
        self.doubts: set[tuple[str, str]] = set()
        """Runs and ids of the tool calls that a message reports as in doubt."""
        self.base_url = ""
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 26)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def count_repeated(self, name: str) -> int:
        """Return how many requests of a run, and of its steps, were answered more than once."""
        return sum(
            number - 1 for (run, *_), number in self.answers.items() if run.split(".")[0] == name
        )

    def count_doubts(self, name: str) -> int:
        """Return how many calls of a run, and of its steps, were reported as in doubt."""
        return sum(run.split(".")[0] == name for run, _ in self.doubts)

    async def close(self) -> None:
        """Stop listening, and end all connections."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while True:
                path, body = await _read_request(reader)
                status, reply = "404 Not Found", b"{}"
                if path.endswith("/chat/completions"):
                    status, reply = "200 OK", self._answer(json.loads(body)["messages"])
                head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
                writer.write(f"{head}content-length: {len(reply)}\r\n\r\n".encode() + reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client disconnected, or the benchmark ended
        finally:
            self._connections.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def _answer(self, messages: list[Message]) -> bytes:
        request = read_request(messages)
        self.answers[request.name, request.role, request.results] += 1
        for message in messages:
            text = str(message["content"])
            if message["role"] == "tool" and any(doubt in text for doubt in _DOUBTS):
                self.doubts.add((request.name, message["tool_call_id"]))
        message = build_reply(request)
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        reply = {"id": "c", "object": "chat.completion", "created": 0, "model": "scripted"}
        return json.dumps({**reply, "choices": [choice], "usage": usage}).encode()


def read_request(messages: list[Message]) -> Request:
    """Return the run of a chat request and its progress."""
    text = "\n".join(_read_text(m) for m in messages if m["role"] in ("user", "system"))
    step = _CURRENT_STEP.search(text)
    role = "step" if step else "agent"
    if _PLANNER in text:
        role = "planner"
    elif _SUMMARY in text:
        role = "summary"
    run = _RUN.search(step[1] if step else text)
    assert run is not None, text
    steps = _STEPS.search(text)
    return Request(
        name=run["name"],
        calls=int(run["calls"]),
        asks_at=int(run["asks"] or 0),
        steps=int(steps[1]) if steps else 0,
        results=sum(message["role"] == "tool" for message in messages),
        role=role,
    )


def build_reply(request: Request) -> Message:
    """Return the message with which the model replies."""
    if request.role == "planner" and not request.results:
        return _call("planning", request.results, _plan(request))
    if request.role in ("planner", "summary"):
        return {"role": "assistant", "content": "Done."}
    number = request.results + 1
    if number == request.asks_at:
        return _call("ask_human", number, {"inquire": "Go on?"})
    if request.asks_at and number > request.asks_at:
        number -= 1
    if number <= request.calls:
        return _call("append", request.results, {"run": request.name, "number": number})
    if request.role == "step":
        return _call("terminate", request.results, {"status": "success"})
    return {"role": "assistant", "content": "Done."}


def _plan(request: Request) -> dict[str, Any]:
    steps = [
        {"text": f"run {request.name}.{n} of {request.calls} calls", "depends_on": []}
        for n in range(request.steps)
    ]
    return {"command": "create", "plan_id": "p", "title": "Append", "steps": steps}


def _call(name: str, number: int, arguments: dict[str, Any]) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _read_text(message: Message) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
    return head[0].split(" ")[1], await reader.readexactly(int(headers.get("content-length", 0)))
