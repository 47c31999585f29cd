"""How a reply ended, and whether its text can be an answer."""

from __future__ import annotations

import re
from typing import Literal

from langchain_core.messages import AIMessage

from manus.state.messages import get_text, has_calls

CUT_OFF = "cut_off"
"""In a reply's `additional_kwargs`: it has no finish reason, which its provider always reports."""
CALLS_IN_TEXT = "calls_in_text"
"""In a reply's `additional_kwargs`: `READ` if its calls were parsed from its text, `UNREADABLE` if
its text contains the markup of calls that cannot be parsed."""
READ = "read"
UNREADABLE = "unreadable"
ReplyFault = Literal["cut off", "repeats itself", "unreadable call", "only a fence"]
_AT_LIMIT = {"length", "max_tokens", "max_output_tokens", "model_length"}
_AT_LIMIT |= {"model_context_window_exceeded", "max_length", "token_limit"}
_ENDS = {"stop", "end", "eos", "eos_token", "end_turn", "end_of_turn", "end_of_text", "endoftext"}
_ENDS |= {"stop_sequence", "stop_token", "stop_str", "complete", "completed", "finish", "finished"}
_ENDS |= {"done", "success", "normal"}
_CALL_ENDS = {"tool_calls", "tool_call", "tool_use", "tool", "function_call", "function_calls"}
_NO_REASONS = {"", "null", "none", "unspecified"}
"""What some servers send as text while a reply goes on, or where they know no reason."""
_BROKE_OFF = re.compile("error|abort|fail|cancel|insufficient|timeout|overload|unavailable")
_MIN_REPETITIONS = 8
_MIN_REPEATED = 600
"""Characters of repetition at the end of a reply that show that the model does not stop."""
_MAX_PERIOD = 2_000
"""Maximum characters of a repeated passage."""


def get_finish_reason(message: AIMessage) -> str:
    """Return why a reply ended, as the provider names it, in lower case; empty if unknown.

    A gateway may call a reply ended whose provider has failed, which is its native reason.
    """
    metadata = message.response_metadata
    native = str(metadata.get("native_finish_reason") or "").lower()
    if broke_off(native):
        return native
    for name in ("finish_reason", "stop_reason", "stopReason", "done_reason"):
        if reason := read_reason(metadata.get(name)):
            return reason
    # OpenAI's Responses API
    details = metadata.get("incomplete_details")
    if isinstance(details, dict) and details.get("reason"):
        return str(details["reason"]).lower()
    return "stop" if metadata.get("status") == "completed" else ""


def read_reason(value: object) -> str:
    """Return a finish reason in lower case; empty if the value is none."""
    reason = str(value or "").lower().removeprefix("finish_reason_")
    return "" if reason in _NO_REASONS else reason


def broke_off(reason: str) -> bool:
    """Return whether a finish reason says that the generation of the reply has failed."""
    return bool(_BROKE_OFF.search(reason))


def find_end_fault(message: AIMessage) -> str | None:
    """Return why a reply did not end as an answer does, as words after "a reply"; None if it did.

    A reply without a reason has ended: custom chat models send none.
    """
    reason = get_finish_reason(message)
    name = reason.replace("-", "_").replace(" ", "_")
    if broke_off(reason):
        return f"whose generation failed (finish reason `{reason}`)"
    if (
        name in _CALL_ENDS
        and not has_calls(message)
        and CALLS_IN_TEXT not in message.additional_kwargs
    ):
        return f"that announces a tool call (finish reason `{reason}`) and contains none"
    if name and name not in _ENDS | _CALL_ENDS | _AT_LIMIT:
        return f"that ended for an unknown reason (finish reason `{reason}`)"
    return None


def ended_at_limit(message: AIMessage) -> bool:
    """Return whether a reply ended at its length limit, so that its last call may be truncated."""
    return get_finish_reason(message) in _AT_LIMIT


def is_cut_off(message: AIMessage) -> bool:
    """Return whether a reply ended at its length limit, or without a reason."""
    return ended_at_limit(message) or bool(message.additional_kwargs.get(CUT_OFF))


def is_empty(message: AIMessage) -> bool:
    """Return whether a reply has neither text nor calls."""
    return not has_calls(message) and not get_text(message).strip()


def find_reply_fault(message: AIMessage, *, has_tools: bool = False) -> ReplyFault | None:
    """Return why the text of a reply cannot be an answer; None if it can.

    For a reply with calls, None is returned: faults of calls are reported with the calls.
    `has_tools`: the request offered tools, so that a reply of nothing but a fence means a call.
    """
    if has_calls(message):
        return None
    if message.additional_kwargs.get(CALLS_IN_TEXT) == UNREADABLE:
        return "unreadable call"
    if _repeats_itself(get_text(message).rstrip()):
        return "repeats itself"
    if ended_at_limit(message):
        return "cut off"
    return "only a fence" if has_tools and _is_only_fence(get_text(message)) else None


def _is_only_fence(text: str) -> bool:
    stripped = text.strip()
    is_fenced = stripped.startswith("```") and stripped.endswith("```")
    return is_fenced and len(stripped) > 6 and "```" not in stripped[3:-3]


def _repeats_itself(text: str) -> bool:
    """Return whether a text ends in a repeated passage: at least 8 times and 600 characters."""
    longest = min(_MAX_PERIOD, len(text) // _MIN_REPETITIONS)
    for period in range(1, longest + 1):
        size = max(_MIN_REPETITIONS * period, _MIN_REPEATED)
        if size > len(text) or text[-1] != text[-1 - period]:  # cheap, and true of most
            continue
        if text[-size:-period] == text[-size + period :]:
            return True
    return False
