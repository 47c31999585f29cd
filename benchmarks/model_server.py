"""A scripted model for benchmarks: it calls the same tool until a run has done all its steps.

The last request identifies the run: `run NAME of STEPS steps, LATENCY ms`. For each run the server
measures the time between the last byte of a reply and the last byte of the next request: the time
that the agent's side took. `GET /gaps/NAME` returns these in milliseconds, and the times
(CLOCK_MONOTONIC, seconds) of the first and the last request.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Run:
    """The measurements of one run."""

    gaps: list[float] = field(default_factory=list)
    served: int = 0
    first: float = 0.0
    last: float = 0.0
    replied: float = 0.0


RUNS: dict[str, Run] = {}
_NAME = re.compile(rb"run (\w+) of (\d+) steps, (\d+) ms")


def _completion(message: dict[str, Any], reason: str, read: int) -> bytes:
    """Return the reply to a request of `read` bytes."""
    tokens = read // 4  # so that no client takes the request for truncated
    body = {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 0,
        "model": "bench",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20},
    }
    return json.dumps(body).encode()


def _reply(number: int, steps: int, read: int) -> bytes:
    if number >= steps:
        return _completion({"role": "assistant", "content": "done"}, "stop", read)
    function = {"name": "look", "arguments": json.dumps({"place": f"item {number}"})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    text = f"I look at item {number} now."
    return _completion(
        {"role": "assistant", "content": text, "tool_calls": [call]}, "tool_calls", read
    )


async def _request(reader: asyncio.StreamReader) -> tuple[str, bytes] | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return lines[0].split(" ")[1], body


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while (request := await _request(reader)) is not None:
        now = time.monotonic()
        path, body = request
        if path.startswith("/gaps/"):
            run = RUNS[path.removeprefix("/gaps/")]
            summary = {"gaps": run.gaps, "first": run.first, "last": run.last}
            await _send(writer, json.dumps(summary).encode())
            continue
        if not path.endswith("/chat/completions"):
            await _send(writer, b"{}", "404 Not Found")  # the window is looked up; there is none
            continue
        names = [*_NAME.finditer(body)]
        assert names, "the request names no run"
        match = names[-1]  # a thread may have had other runs before
        run = RUNS.setdefault(match[1].decode(), Run())
        if run.served:
            run.gaps.append((now - run.replied) * 1000)
        run.first, run.last = run.first or now, now
        if latency := int(match[3]):
            await asyncio.sleep(latency / 1000)
        await _send(writer, _reply(run.served, int(match[2]), len(body)))
        run.served += 1
        run.replied = time.monotonic()
    writer.close()


async def _send(writer: asyncio.StreamWriter, body: bytes, status: str = "200 OK") -> None:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    writer.write(head.encode() + b"\r\n\r\n" + body)
    await writer.drain()


async def main() -> None:
    """Serve on an ephemeral port until standard input ends; print the port first."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=1 << 26)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
