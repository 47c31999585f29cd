"""The projections of a v3 stream: `tool_calls`, `subagents`, and those of caller and middleware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langgraph.prebuilt import ToolCallTransformer

if TYPE_CHECKING:
    from manus.graph.middleware.stack import MiddlewareStack


def list_transformers(
    stack: MiddlewareStack | None, transformers: Sequence[Any] | None
) -> list[Any]:
    """Return the stream transformers of an agent; they do nothing before a v3 stream is opened."""
    own = stack.transformers if stack is not None else []
    unique: list[Any] = []
    for factory in (ToolCallTransformer, subagents, *own, *(transformers or ())):
        if not any(factory is other for other in unique):
            unique.append(factory)
    return unique


def subagents(scope: tuple[str, ...]) -> Any:
    """Return the projection of `subagents`, LangChain's own; one that does nothing without it."""
    try:
        from langchain.agents._subagent_transformer import SubagentTransformer
    except ImportError:
        return ToolCallTransformer(scope)
    return SubagentTransformer(scope)
