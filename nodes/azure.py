"""AzureChatOpenAI with what `nodes.wire` saves and mends."""

from __future__ import annotations

from langchain_openai.chat_models.azure import AzureChatOpenAI

from nodes.wire import Lean


class LeanAzureChatOpenAI(Lean, AzureChatOpenAI):
    """AzureChatOpenAI as `LeanChatOpenAI` is ChatOpenAI."""
