"""A request as the server received it."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
SENT_BACK = "Your last reply called no tool"
"""Begins the note with which the agent sends a reply back."""


@dataclass(frozen=True, eq=False)
class Request:
    """One chat completion request.

    Attributes:
        raw: The body's bytes as received.
        body: The body as JSON.
        headers: The headers, by names in lower case.
        path: The path with the query.
        at: When it was complete, on the `time.monotonic` clock, in seconds.
    """

    raw: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    path: str = ""
    at: float = field(default_factory=time.monotonic)
    body: Json = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", json.loads(self.raw or b"{}"))

    @property
    def messages(self) -> list[Json]:
        return list(self.body.get("messages") or [])

    @property
    def last(self) -> Json:
        return self.messages[-1]

    @property
    def tools(self) -> list[Json]:
        return list(self.body.get("tools") or [])

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.tools if "function" in tool]

    @property
    def tool_results(self) -> dict[str, str]:
        """Return the text of each tool message, by the id of its call."""
        tools = (m for m in self.messages if m.get("role") == "tool")
        return {m["tool_call_id"]: _text(m) for m in tools}

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True

    @property
    def include_usage(self) -> bool:
        return bool((self.body.get("stream_options") or {}).get("include_usage"))

    @property
    def text(self) -> str:
        """Return all text of the conversation, at least one line per message."""
        return "\n".join(_text(message) for message in self.messages)

    @property
    def sent_back(self) -> str:
        """Return the reply without a call that the agent sends back; empty if it sends none."""
        texts = [_text(m) for m in self.messages if m.get("role") == "assistant"]
        is_sent_back = self.messages and SENT_BACK in _text(self.last)
        return texts[-1] if texts and is_sent_back else ""

    def __repr__(self) -> str:
        if not self.messages:
            return f"<request without messages: {self.raw[:80]!r}>"
        message = _text(self.last) or str(self.last)
        return f"<request of {len(self.messages)} messages, the last: {message[:80]!r}>"


def mentions(words: str) -> Callable[[Request], bool]:
    """Match the requests whose conversation contains these words."""
    return lambda request: words in request.text


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [] if isinstance(part, dict))
