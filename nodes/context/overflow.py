"""A request that cannot be made short enough: told before it is sent, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from manus.models.tokens import estimate_message
from manus.nodes.context.space import Space
from manus.state.errors import ContextOverflowError

_SURE = 1.1
"""How much larger than the window an estimate must be before it is believed."""
_LARGER = "a model with a larger window (`context_window`)"
_REMEDIES = {
    "the system prompt": f"use a shorter system prompt, or {_LARGER}",
    "the tools": f"offer fewer tools, or use {_LARGER}",
    "the user's messages": f"ask for less at once, put long texts into files, or use {_LARGER}",
    "the last turns": f"use {_LARGER}",
}


def check_frame(space: Space) -> None:
    """See that the system prompt and the tools leave something of a window that is known.

    Raises:
        ContextOverflowError: they do not.
    """
    if space.is_certain and space.fixed >= _SURE * space.window:
        raise too_large(None, space)


def overflows(space: Space, request: Sequence[BaseMessage], most: float) -> bool:
    """Whether a request is larger than a window that is known; it has `most` tokens at most."""
    if not space.is_certain or most <= space.window:
        return False
    sizes = (estimate_message(message) for message in request[1:])
    return space.fixed + space.calibration.factor * sum(sizes) > _SURE * space.window


def too_large(
    error: ContextOverflowError | None, space: Space, request: Sequence[BaseMessage] = ()
) -> ContextOverflowError:
    """The error of a request from which nothing more can be left out.

    `error` is that of the server, if it was asked; `request` what it was or would be asked.
    """
    sizes = [(m, estimate_message(m)) for m in request[1:]]
    said = sum(size for m, size in sizes[:-1] if isinstance(m, HumanMessage))
    parts = {
        "the system prompt": space.prompt,
        "the tools": space.tools,
        "the user's messages": said,
        "the last turns": sum(size for _, size in sizes) - said,
    }
    counted = {name: space.calibration.factor * size for name, size in parts.items()}
    shown = [f"{name} (about {size:,.0f} tokens)" for name, size in counted.items()]
    refused = f"The request is larger than the context window of `{space.model}`"
    return ContextOverflowError(
        f"{str(error).rstrip('.') if error else refused}. What is left of it cannot be made "
        f"shorter: {', '.join(shown[:-1])} and {shown[-1]}, of about {sum(counted.values()):,.0f} "
        f"in a window of {space.window:,}; {_REMEDIES[max(counted, key=counted.__getitem__)]}.",
        space.model,
    )
