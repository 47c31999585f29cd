"""Chat models in LangChain's wrappers: `bind`, `with_retry`, `with_fallbacks`, `with_config`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import chain
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase

from manus.state.errors import SettingsError

_TOOL_OPTIONS = ("tools", "tool_choice")


def chat_model_in(model: object) -> BaseChatModel:
    """Return the first chat model inside LangChain's wrappers.

    Raises:
        SettingsError: there is no chat model inside.
    """
    inner: object = model
    while not isinstance(inner, BaseChatModel):
        if isinstance(inner, RunnableBindingBase):
            inner = inner.bound
        elif isinstance(inner, RunnableWithFallbacks):
            inner = inner.runnable
        else:
            raise SettingsError(
                f"`{type(model).__name__}` is not a chat model: pass `PROVIDER:NAME`, a LangChain "
                "chat model, or one wrapped by `bind`, `with_retry` or `with_fallbacks`."
            )
    return inner


def chat_models_in(model: object) -> list[BaseChatModel]:
    """Return all chat models inside LangChain's wrappers, in the order of fallback."""
    if isinstance(model, RunnableWithFallbacks):
        return [*chain.from_iterable(map(chat_models_in, model.runnables))]
    if isinstance(model, RunnableBindingBase):
        return chat_models_in(model.bound)
    return [chat_model_in(model)]


def has_stream(model: object) -> bool:
    """Return whether a chat model has a method of its own that streams."""
    kind = type(chat_model_in(model))
    base = BaseChatModel
    return kind._astream is not base._astream or kind._stream is not base._stream


def with_tools(
    model: Runnable[Any, Any], tools: Sequence[dict[str, Any]], **choice: Any
) -> Runnable[Any, Any]:
    """Return the model with these tools bound, inside its wrappers.

    Tools that the caller has bound are replaced: the run executes only its own.

    Raises:
        NotImplementedError: the chat model cannot call tools.
    """
    if isinstance(model, BaseChatModel):
        # a copy: packages modify schemas in place, and later requests use these too
        return model.bind_tools(copy.deepcopy(tools), **choice)
    if isinstance(model, RunnableWithFallbacks):
        changed: dict[str, Any] = {
            "runnable": with_tools(model.runnable, tools, **choice),
            "fallbacks": [with_tools(fallback, tools, **choice) for fallback in model.fallbacks],
        }
        return model.model_copy(update=changed)
    if isinstance(model, RunnableBindingBase):
        kwargs = {name: v for name, v in model.kwargs.items() if name not in _TOOL_OPTIONS}
        changed = {"bound": with_tools(model.bound, tools, **choice), "kwargs": kwargs}
        return model.model_copy(update=changed)
    return with_tools(chat_model_in(model), tools, **choice)  # raises: it is not a chat model
