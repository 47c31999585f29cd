"""Chat models in LangChain's wrappers: `bind`, `with_retry`, `with_fallbacks`, `with_config`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase

from manus.state.errors import SettingsError

_OF_TOOLS = ("tools", "tool_choice")


def chat_model_in(model: object) -> BaseChatModel:
    """Return the chat model that is asked first in a model, whatever is wrapped around it.

    Raises:
        SettingsError: there is none.
    """
    inner: object = model
    while not isinstance(inner, BaseChatModel):
        if isinstance(inner, RunnableBindingBase):
            inner = inner.bound
        elif isinstance(inner, RunnableWithFallbacks):
            inner = inner.runnable
        else:
            raise SettingsError(
                f"`{type(model).__name__}` is no chat model: give `PROVIDER:NAME`, a chat model "
                "of LangChain's, or one of these with `bind`, `with_retry` or `with_fallbacks`."
            )
    return inner


def chat_models_in(model: object) -> list[BaseChatModel]:
    """Return all chat models in a model, in the order in which they are asked."""
    if isinstance(model, RunnableWithFallbacks):
        return [inner for each in model.runnables for inner in chat_models_in(each)]
    if isinstance(model, RunnableBindingBase):
        return chat_models_in(model.bound)
    return [chat_model_in(model)]


def with_tools(
    model: Runnable[Any, Any], tools: Sequence[dict[str, Any]], **choice: Any
) -> Runnable[Any, Any]:
    """Return the model with these tools offered; its wrappers stay around it.

    Tools that a caller has bound before are replaced: the run executes its own and no others.

    Raises:
        NotImplementedError: the chat model cannot call tools.
    """
    if isinstance(model, BaseChatModel):
        # a copy: packages take schemas apart in place, and these are every later request's
        return model.bind_tools(copy.deepcopy(tools), **choice)
    if isinstance(model, RunnableWithFallbacks):
        changed: dict[str, Any] = {
            "runnable": with_tools(model.runnable, tools, **choice),
            "fallbacks": [with_tools(each, tools, **choice) for each in model.fallbacks],
        }
        return model.model_copy(update=changed)
    if isinstance(model, RunnableBindingBase):
        kwargs = {name: v for name, v in model.kwargs.items() if name not in _OF_TOOLS}
        changed = {"bound": with_tools(model.bound, tools, **choice), "kwargs": kwargs}
        return model.model_copy(update=changed)
    return with_tools(chat_model_in(model), tools, **choice)  # says that it is no chat model
