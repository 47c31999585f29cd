"""A scripted OpenAI-compatible chat server on loopback, to stand behind the real client.

    server.script(call("bash", command="ls"), text("two files"))
    ...  # run the agent with base_url=server.base_url, api_key="x"
    assert server.requests[1].last["content"] == "a.txt"

The fixtures `server` and `new_server` (`tests.helpers.fixtures`) fail the test at its end when a
request was not expected, was one that the real API refuses, or when replies were left unused.
"""

from tests.server.replies import (
    ABSENT,
    Call,
    Cut,
    Message,
    Raw,
    call,
    calls,
    cut,
    fail,
    hang,
    message_of,
    raw,
    said,
    stream_of,
    text,
    tokens,
)
from tests.server.request import Request, mentions
from tests.server.server import Queue, Scripted, ScriptedServer

__all__ = [
    "ABSENT",
    "Call",
    "Cut",
    "Message",
    "Queue",
    "Raw",
    "Request",
    "Scripted",
    "ScriptedServer",
    "call",
    "calls",
    "cut",
    "fail",
    "hang",
    "mentions",
    "message_of",
    "raw",
    "said",
    "stream_of",
    "text",
    "tokens",
]
