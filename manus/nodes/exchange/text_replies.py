"""Decide whether a reply without a call is sent back: continue with a call, or terminate."""

from __future__ import annotations

import re
from itertools import takewhile

from langchain_core.messages import AIMessage

from manus.nodes.active_run import ActiveRun
from manus.state.agent import AgentState
from manus.state.closing import is_closing
from manus.state.messages import get_text, has_calls
from manus.tools.terminate import TERMINATE

_SENTENCE_END = re.compile(r"(?<=[.!…])\s+|(?<=[。！])\s*|\n")
_ANNOUNCEMENT = re.compile(
    r"(?:(?:ok(?:ay)?|sure|now|first|next|then)[,.!]?\s+)*"
    r"(?:i(?:'ll|’ll| will|'m going to| am going to)|let me|let's)\s+(?!(?:know|be|need|wait)\b)"
    r"|(?:(?:好的?|现在|接下来|首先|下面)[,，]?)*(?:让我|我来|我将|我会|我先|我要|我们来)",
    re.IGNORECASE,
)


def announces_work(text: str) -> bool:
    """Return whether a text ends with a colon, or in English or Chinese with what comes next."""
    last = _SENTENCE_END.split(text.strip().rstrip("。！"))[-1]
    is_announced = _ANNOUNCEMENT.match(last) and not last.endswith(("?", "？"))
    return last.endswith((":", "：")) or bool(is_announced)


def is_sent_back(
    state: AgentState, active_run: ActiveRun, message: AIMessage | None, *, is_last: bool
) -> bool:
    """Return whether a reply without a call is sent back, once per run, if calls could follow.

    It is after calls, if the agent can call `terminate`, or if it announces work; never in a chat.
    """
    run = state["run"]
    if message is None or has_calls(message) or not get_text(message).strip():
        return False
    if is_last or "closing" in run or active_run.ledger.over is not None:
        return False
    if (settings := active_run.settings).tool_choice != "auto" or settings.text_reply != "finish":
        return False
    if "sent_back" in run or not active_run.catalog.schemas() or _is_chat(state, active_run):
        return False
    if state["usage"]["tool_calls"] and active_run.catalog.find(TERMINATE) is not None:
        return True
    return announces_work(get_text(message))


def _is_chat(state: AgentState, active_run: ActiveRun) -> bool:
    """Return whether a person can reply: the caller says so, or the run before ended in text."""
    if active_run.is_inside:
        return False
    if active_run.settings.conversation:
        return True
    earlier = takewhile(lambda m: m.id != state["run"]["request_id"], state["messages"])
    replies = [m for m in earlier if isinstance(m, AIMessage) and not is_closing(m)]
    return bool(replies) and not has_calls(replies[-1])
