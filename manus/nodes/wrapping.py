"""The interface between the nodes and LangChain's middleware, which `manus.graph` implements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langgraph.types import Command

from manus.models.client import Reply

if TYPE_CHECKING:
    from manus.calls.wrapped_call import ToolCallWrapper
    from manus.nodes.active_run import ActiveRun
    from manus.nodes.compaction import ThreadHistory
    from manus.nodes.notes import StepNotes


@dataclass(frozen=True, slots=True)
class ModelStep:
    """Inputs of one model call of a step."""

    active_run: ActiveRun
    history: ThreadHistory
    system: str | SystemMessage
    notes: StepNotes
    state: Any
    """The whole state of the graph."""
    runtime: Any
    prepare: Callable[[AIMessage], AIMessage]
    """Assigns ids to a reply and its calls."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The messages of a model call, the reply among them, and other changes of the state."""

    reply: Reply
    messages: list[AnyMessage]
    update: dict[str, Any] = field(default_factory=dict)
    commands: list[Command[Any]] = field(default_factory=list)


class Wrappers(Protocol):
    """Wrappers around the model calls and the tool calls of a run."""

    tool_calls: ToolCallWrapper | None

    async def ask_model(self, step: ModelStep) -> ModelAnswer:
        """Return the answer of the model, or of a middleware in its place."""


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Arguments of `build_agent` other than the profile."""

    wrappers: Wrappers | None = None
    system_message: SystemMessage | None = None
    """Sent unchanged, in place of the profile's prompt."""
    name: str | None = None
    """Name in the agent's messages."""
