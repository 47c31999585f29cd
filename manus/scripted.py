"""A model that follows a script, for notebooks and tests of your own: `build_agent(model=…)`.

It thinks of nothing: each request gets the next reply of its script.
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


def text(said: str, *, used: tuple[int, int] = (100, 20)) -> AIMessage:
    """A reply of words alone. `used`: tokens in and out."""
    return calls(text=said, used=used)


def call(name: str, **arguments: Any) -> AIMessage:
    """A reply that calls a tool and says nothing, or a part of `calls`."""
    made = ToolCall(name=name, args=arguments, id=f"call_{uuid.uuid4().hex[:8]}")
    return calls(AIMessage("", tool_calls=[made]))


def calls(
    *made: AIMessage, text: str | None = None, used: tuple[int, int] = (100, 20)
) -> AIMessage:
    """A reply with several calls, or with words beside them."""
    given, gave = used
    return AIMessage(
        text or "",
        tool_calls=[one for reply in made for one in reply.tool_calls],
        usage_metadata=UsageMetadata(
            input_tokens=given, output_tokens=gave, total_tokens=given + gave
        ),
    )


class ScriptedModel(BaseChatModel):
    """Gives the replies of its script, one a request."""

    requests: list[dict[str, Any]] = Field(default_factory=list)
    """All requests so far: their `messages`, and the `tools` that were offered."""
    _replies: list[tuple[str, AIMessage]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=Lock)

    def script(self, *replies: AIMessage) -> None:
        """Add replies."""
        self.when("", *replies)

    def when(self, words: str, *replies: AIMessage) -> None:
        """Add replies to requests in which these words stand; they come before all others."""
        with self._lock:
            self._replies += [(words, reply) for reply in replies]

    def bind_tools(self, tools: Any, **options: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """The model, which is told of the tools."""
        return self.bind(tools=tools, **options)

    @property
    def _llm_type(self) -> str:
        return "script"

    def _generate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        said = "\n".join(str(message.text) for message in messages)
        with self._lock:
            self.requests.append({"messages": messages, "tools": options.get("tools")})
            fitting = (pair for pair in self._replies if pair[0] in said)
            found = min(fitting, key=lambda pair: not pair[0], default=None)
            if found is None:
                raise ModelRefusedError("The script is over.")
            self._replies.remove(found)
        # a copy: LangChain gives it an id, and a reply may be said more than once
        return ChatResult(generations=[ChatGeneration(message=found[1].model_copy(deep=True))])
