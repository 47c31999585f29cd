"""Azure's variant of the client; a separate module because few runs need its slow import."""

from __future__ import annotations

import os
from typing import Any

from langchain_openai.chat_models.azure import AzureChatOpenAI

from manus.config.model_settings import ModelSettings
from manus.models.openai_chat import FastChat
from manus.state.errors import SettingsError


class FastAzureChatOpenAI(FastChat, AzureChatOpenAI):
    """AzureChatOpenAI without the per-call cost that grows with the history."""


def build(settings: ModelSettings, name: str, values: dict[str, Any]) -> FastAzureChatOpenAI:
    """Return the client of a deployment; `values` are arguments of every client.

    Raises:
        SettingsError: its address or its key is missing.
    """
    if settings.base_url is None:
        raise SettingsError("Azure OpenAI needs its endpoint: set MANUS_BASE_URL.")
    if settings.api_key is None and not os.environ.get("AZURE_OPENAI_API_KEY"):
        raise SettingsError("Azure OpenAI needs its key: set MANUS_API_KEY.")
    values |= {
        "azure_endpoint": values.pop("base_url"),
        "azure_deployment": name,
        # a deployment is usually named after its model, which decides what options are rejected
        "model": name,
        "use_responses_api": False,  # whatever the name: the address is that of chat completions
        "api_version": settings.api_version or "2024-10-21",
    }
    return FastAzureChatOpenAI(**values)
