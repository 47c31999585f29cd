"""Calls of a reply that was cut off: never carried out, however whole a library made them look.

LangChain completes arguments that end too soon (`{"command": "rm -rf /tmp/a` becomes a call). From
OpenAI's protocol the text is known as it was sent (`malformed`); of other providers only the
completed call is left, so that none of a cut-off reply can be trusted.
"""

from __future__ import annotations

import json

from langchain_core.messages import AIMessage

from manus.models.malformed import as_sent, with_calls
from manus.models.repair import is_cut_off
from manus.models.replies import CUT_OFF, ended_at_limit, reason_of
from manus.state.messages import calls_of

_KNOWN_AS_SENT = frozenset({"openai", "azure"})


def with_cut_off_calls(message: AIMessage, provider: str) -> AIMessage:
    """The reply with the calls that may lack their end among the malformed ones."""
    calls = [as_sent(call) for call in calls_of(message)]
    if not calls:
        return message
    if provider in _KNOWN_AS_SENT:
        # arguments that had not begun to come are no arguments, and look whole
        doubtful = calls[-1:] if ended_at_limit(message) and calls[-1]["args"] in ("", "{}") else []
    else:
        if not reason_of(message):
            message.additional_kwargs[CUT_OFF] = True
        doubtful = calls if is_cut_off(message) else []
    for call in doubtful:
        call["args"] = _open(call["args"])
    return with_calls(message, calls) if doubtful else message


def _open(arguments: str) -> str:
    """Arguments without the end that a library has given them; what is no JSON stays."""
    try:
        whole = json.loads(arguments or "{}")
    except ValueError:
        return arguments
    return json.dumps(whole, ensure_ascii=False)[:-1]
