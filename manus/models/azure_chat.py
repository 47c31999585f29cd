"""Azure's variant of the client; a separate module because few runs need its slow import."""

from __future__ import annotations

from langchain_openai.chat_models.azure import AzureChatOpenAI

from manus.models.openai_chat import FastChat


class FastAzureChatOpenAI(FastChat, AzureChatOpenAI):
    """AzureChatOpenAI without the per-call cost that grows with the history."""
