"""LangChain middleware for agents of other libraries; needs the extra `langchain`."""

from manus.middleware.effect_journal import EffectJournal

__all__ = ["EffectJournal"]
