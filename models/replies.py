"""Replies that are none: empty, stopped by a content filter, or cut off in their middle."""

from __future__ import annotations

from langchain_core.messages import AIMessage

from manus.state.errors import ModelRefusedError, ModelUnavailableError
from manus.state.messages import has_calls, text_of

CUT_OFF = "cut_off"
"""In a streamed reply's `additional_kwargs`: it ended without saying why."""
_AT_LIMIT = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
    }
)
_FILTERED = frozenset(
    {
        "content_filter",
        "refusal",
        "safety",
        "prohibited_content",
        "blocklist",
        "guardrail_intervened",
        "content_filtered",
        "sensitive",
        "recitation",
        "spii",
        "image_safety",
    }
)


def is_empty(message: AIMessage) -> bool:
    """Whether a reply says nothing and calls nothing."""
    return not has_calls(message) and not text_of(message).strip()


def reason_of(message: AIMessage) -> str:
    """Why a reply ended, in the provider's word, in lower case."""
    metadata = message.response_metadata
    for name in ("finish_reason", "stop_reason", "stopReason"):
        if metadata.get(name):
            return str(metadata[name]).lower()
    return ""


def ended_at_limit(message: AIMessage) -> bool:
    """Whether a reply ended at its length limit, so that its last call may lack its end."""
    return reason_of(message) in _AT_LIMIT


def check_filtered(message: AIMessage, *, model: str, address: str) -> None:
    """See that a reply was not stopped by a content filter; what there is of it is not used.

    Raises:
        ModelRefusedError: it was.
    """
    if reason_of(message) in _FILTERED:
        raise ModelRefusedError(
            f"The content filter of the model server at {address} stopped the reply of `{model}` "
            f"({reason_of(message)}); put the request in other words, or use another model.",
            of_request=True,
        )


def check_said(message: AIMessage, *, model: str, address: str) -> None:
    """See that a reply is not empty, once it has been asked for again.

    Raises:
        ModelUnavailableError: it is.
    """
    if not is_empty(message):
        return
    where = f"The model server at {address} gave an empty reply of `{model}` twice"
    if ended_at_limit(message):
        raise ModelUnavailableError(
            f"{where}: it ended at its length limit before it said anything; set a larger "
            "MANUS_MAX_TOKENS, or less reasoning_effort."
        )
    raise ModelUnavailableError(f"{where}; try again, or use another model.")


def check_whole(message: AIMessage, before: list[AIMessage], *, model: str, address: str) -> None:
    """See that a streamed reply came to its end. One that did not is asked for again once.

    Some servers never say why a reply ended: the second such reply is taken as it is.

    Raises:
        ModelUnavailableError: it broke off.
    """
    if message.additional_kwargs.get(CUT_OFF) and not before:
        before.append(message)
        raise ModelUnavailableError(
            f"The model server at {address} ended the reply of `{model}` in its middle."
        )
