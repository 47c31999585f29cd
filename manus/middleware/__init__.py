"""LangChain middleware for agents of other libraries; needs the extra `langchain`."""

from manus.middleware.effect_journal import EffectJournal
from manus.middleware.stuck_check import StuckCheck

__all__ = ["EffectJournal", "StuckCheck"]
