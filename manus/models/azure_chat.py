"""Azure's dialect of the client; apart, since few runs need it and it takes a while to make."""

from __future__ import annotations

from langchain_openai.chat_models.azure import AzureChatOpenAI

from manus.models.openai_chat import FastChat


class FastAzureChatOpenAI(FastChat, AzureChatOpenAI):
    """AzureChatOpenAI as `FastChatOpenAI` is ChatOpenAI."""
