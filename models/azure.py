"""AzureChatOpenAI with what `manus.models.openai_chat` saves and mends."""

from __future__ import annotations

from langchain_openai.chat_models.azure import AzureChatOpenAI

from manus.models.openai_chat import Lean


class LeanAzureChatOpenAI(Lean, AzureChatOpenAI):
    """AzureChatOpenAI as `LeanChatOpenAI` is ChatOpenAI."""
