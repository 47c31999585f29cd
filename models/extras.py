"""Models of providers that come as extras: Anthropic, Google, Bedrock, by their LangChain packages.

Their clients are told not to try again by themselves: that is done in one place, for all.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from manus.models.error_facts import shortened
from manus.state.errors import SettingsError
from manus.state.model_settings import ModelSettings

# provider: (package to install, module, class)
EXTRAS = {
    "anthropic": ("langchain-anthropic", "langchain_anthropic", "ChatAnthropic"),
    "google": ("langchain-google-genai", "langchain_google_genai", "ChatGoogleGenerativeAI"),
    "bedrock": ("langchain-aws", "langchain_aws", "ChatBedrockConverse"),
}
_NEEDS = {
    "anthropic": "a key: MANUS_API_KEY or ANTHROPIC_API_KEY",
    "google": "a key: MANUS_API_KEY or GOOGLE_API_KEY",
    "bedrock": "a region (AWS_REGION) and credentials of AWS, or a Bedrock key in MANUS_API_KEY",
}


def build_extra(
    settings: ModelSettings, provider: str, name: str, *, connect: float
) -> BaseChatModel:
    """The chat model of an extra. Blocking. `connect`: most seconds to wait for a connection.

    Raises:
        SettingsError: its package is missing, or it cannot be made with these settings.
    """
    package, module, cls = EXTRAS[provider]
    try:
        model_class = getattr(importlib.import_module(module), cls)
    except ImportError:
        raise SettingsError(
            f"The provider `{provider}` needs a package that is not installed: "
            f"pip install {package}."
        ) from None
    try:
        values = values_of(settings, provider, connect)
        model: Any = model_class(model=name, streaming=True, **values)
        if provider == "anthropic" and not model.anthropic_api_key.get_secret_value():
            raise ValueError("there is none")  # its client would find out with an odd request
    except Exception as error:  # each client has exceptions of its own
        raise SettingsError(
            f"The model `{provider}:{name}` cannot be set up; it needs {_NEEDS[provider]} "
            f"({shortened(str(error))})."
        ) from error
    made: BaseChatModel = model
    return made


def values_of(settings: ModelSettings, provider: str, connect: float) -> dict[str, Any]:
    """What a client is built with; what is not set is left to it."""
    chosen = {
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "api_key": settings.api_key,
        "base_url": settings.base_url,
        "reasoning_effort": settings.reasoning_effort,
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    if provider == "bedrock":
        make = importlib.import_module("botocore.config").Config
        retries = {"total_max_attempts": 1, "mode": "standard"}
        waits = {"read_timeout": settings.timeout, "connect_timeout": connect}
        return {**given, "config": make(retries=retries, **waits)}
    # Google counts attempts, and takes none for its default; the others count what comes after one
    given["max_retries"] = 1 if provider == "google" else 0
    return {**given, "timeout": settings.timeout}


def with_tools(
    model: BaseChatModel, tools: Sequence[dict[str, Any]], *, required: bool
) -> Runnable[Sequence[BaseMessage], Any]:
    """The model with tools in its provider's own form; `required`: it has to call one."""
    choice = {"tool_choice": "any"} if required else {}
    # a copy: packages take schemas apart in place, and these are every later request's
    return model.bind_tools(copy.deepcopy(list(tools)), **choice)
