"""How large a request may be, and how large the next one will be. All sizes are in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

from manus.models.providers import DEFAULT_MODEL
from manus.models.tokens import TOKENS, Calibration, estimate_message, estimate_text, estimate_tools
from manus.nodes.active_run import Running
from manus.state.agent import Compaction
from manus.state.errors import ContextOverflowError

_LEAST = 0.1
"""Part of the window that the history is taken to have, however much stands around it."""
_SURE = 1.1
"""How much larger than the window an estimate must be before it is believed."""


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """The context window of a model, and what always stands in it."""

    model: str
    """As errors call it."""
    size: int
    is_certain: bool
    """Whether it was set, or named by the server; else it is told from the model's name."""
    prompt: float
    tools: float
    factor: float
    """What an estimate is multiplied by to be what the server counts."""
    reply: int
    """What is kept free for the reply, where its length is limited."""

    @property
    def fixed(self) -> float:
        """What stands around the history."""
        return self.factor * (self.prompt + self.tools)

    @property
    def room(self) -> float:
        """What is left for the history, as estimated: it stays the same from step to step."""
        return max(self.size - self.prompt - self.tools, _LEAST * self.size)

    @property
    def full(self) -> float:
        """The size of a request that leaves nothing but the reply free."""
        return self.size - min(self.reply, self.size / 2)

    def count(self, messages: Sequence[BaseMessage]) -> float:
        """About how many tokens the messages have."""
        return self.factor * sum(map(estimate_message, messages))

    def is_too_small(self, tokens: float) -> bool:
        """Whether a request of so many tokens is sure to be refused."""
        return self.is_certain and tokens > _SURE * self.size


def context_window(running: Running, role: str, system: str) -> ContextWindow:
    """The window of the model of a role as things are now, with this system prompt."""
    endpoint, window = running.client.endpoint(role), running.client.window(role)
    model = endpoint.model or DEFAULT_MODEL
    return ContextWindow(
        model=model,
        size=window.size,
        is_certain=window.is_certain,
        prompt=estimate_text(system),
        tools=estimate_tools(running.catalog.schemas()),
        factor=running.client.calibration.get(model, Calibration()).factor,
        reply=endpoint.max_tokens or 0,
    )


def counted_at(message: AnyMessage) -> int | None:
    """The tokens of the request that a message answered, and its own."""
    if not isinstance(message, AIMessage):
        return None
    usage = message.usage_metadata
    if usage is not None and usage["input_tokens"]:
        return usage["input_tokens"] + usage["output_tokens"]
    return message.additional_kwargs.get(TOKENS)


def next_size(
    history: Sequence[AnyMessage], compaction: Compaction | None, window: ContextWindow
) -> float:
    """Tokens of the next request: those of the last one, and of what has come since."""
    new: list[BaseMessage] = []
    for message in reversed(history):
        if compaction is not None and message.id == compaction["at"]:
            return compaction["size"] + window.count(new)
        counted = counted_at(message)
        if counted is not None:
            return counted + window.count(new)
        new.append(message)
    return window.fixed + window.count(new)


def too_large(
    error: ContextOverflowError | None, window: ContextWindow, request: Sequence[BaseMessage]
) -> ContextOverflowError:
    """The error of a request from which nothing more can be left out.

    `error` is that of the server, if it was asked; `request` what it was or would be asked.
    """
    refused = f"The request is larger than the context window of `{window.model}`"
    said = str(error).rstrip(".") if error else f"{refused}, of {window.size:,} tokens"
    return ContextOverflowError(
        f"{said}. What is left of it cannot be made shorter: about "
        f"{window.factor * window.prompt:,.0f} tokens of system prompt, "
        f"{window.factor * window.tools:,.0f} of tools and {window.count(request[1:]):,.0f} of "
        "messages; put long texts into files, offer fewer tools, or use a model with a larger "
        "window (`context_window`).",
        window.model,
    )
