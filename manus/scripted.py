"""Scripted chat model, for notebooks and your own tests: `build_agent(model=…)`.

It returns the next reply of its script for each request.
"""

from __future__ import annotations

import uuid
from threading import Lock
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field, PrivateAttr

from manus.state.errors import ModelRefusedError


def text(content: str, *, used: tuple[int, int] = (100, 20)) -> AIMessage:
    """Return a text-only reply; `used` is its input and output tokens."""
    return calls(text=content, used=used)


def call(name: str, **arguments: Any) -> AIMessage:
    """Return a reply with one tool call and no text; `calls` joins several of them."""
    tool_call = ToolCall(name=name, args=arguments, id=f"call_{uuid.uuid4().hex[:8]}")
    return calls(AIMessage("", tool_calls=[tool_call]))


def calls(
    *replies: AIMessage, text: str | None = None, used: tuple[int, int] = (100, 20)
) -> AIMessage:
    """Return one reply with the calls of all `replies`, and optionally text."""
    input_tokens, output_tokens = used
    tool_calls: list[ToolCall] = []
    for reply in replies:
        tool_calls += reply.tool_calls
    usage = UsageMetadata(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
    )
    return AIMessage(text or "", tool_calls=tool_calls, usage_metadata=usage)


class ScriptedModel(BaseChatModel):
    """Chat model that returns the replies of its script, one per request."""

    requests: list[dict[str, Any]] = Field(default_factory=list)
    """All requests so far: their `messages`, and the `tools` that were offered."""
    _replies: list[tuple[str, AIMessage]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=Lock)

    def script(self, *replies: AIMessage) -> None:
        """Add replies to the end of the script."""
        self.when("", *replies)

    def when(self, words: str, *replies: AIMessage) -> None:
        """Add replies for requests that contain `words`; they are used before all others."""
        with self._lock:
            self._replies += [(words, reply) for reply in replies]

    def bind_tools(self, tools: Any, **options: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with these tools bound."""
        return self.bind(tools=tools, **options)

    @property
    def _llm_type(self) -> str:
        return "script"

    def _generate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        conversation = "\n".join(str(message.text) for message in messages)
        with self._lock:
            self.requests.append({"messages": messages, "tools": options.get("tools")})
            matches = (entry for entry in self._replies if entry[0] in conversation)
            match = min(matches, key=lambda entry: not entry[0], default=None)
            if match is None:
                raise ModelRefusedError("The script has no more replies.")
            self._replies.remove(match)
        reply = match[1]
        # a copy: LangChain assigns an id to it, and a reply may be used more than once
        return ChatResult(generations=[ChatGeneration(message=reply.model_copy(deep=True))])
