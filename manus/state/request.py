"""The request of a user: before it becomes a message, and what in a history the user has typed.

Attached files, piped text and what one agent writes to another are not the user's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, ToolMessage

from manus.state.history import messages_since
from manus.state.messages import STEER, get_text, is_from_user, last_request

OWN_WORDS = "asked"
"""In the `additional_kwargs` of a request: the user's own words, where its text contains more."""
ASK_HUMAN = "ask_human"

_ATTACHED = re.compile(r"(?:\A|\n\n)<(?:file|stdin|earlier|undone)\b|\[The attached file ")


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its attachments."""

    text: str
    """The text the model reads, attached files included."""
    user_text: str
    """The part the user wrote. Only addresses typed here count as named by the user."""
    is_tainted: bool = False
    """Whether the attached part is untrusted text."""

    def __bool__(self) -> bool:
        return bool(self.text)


def typed_request(text: str) -> Request:
    """Return a request without attachments."""
    return Request(text, text)


def own_words(message: BaseMessage) -> str:
    """Return what the user has written in a message; empty for what others have written."""
    if isinstance(message, ToolMessage):
        if message.name != ASK_HUMAN:
            return ""
        words = message.additional_kwargs.get(OWN_WORDS)  # set in an imported thread
        return get_text(message) if words is None else str(words)
    if not isinstance(message, HumanMessage) or not is_from_user(message):
        return ""
    words = message.additional_kwargs.get(OWN_WORDS)
    if words is None:
        words = "\n".join(_typed_texts(message))
    return str(words)


def all_own_words(messages: Iterable[AnyMessage]) -> str:
    """Return the user's own words in a history, an empty line between requests and answers."""
    return "\n\n".join(filter(None, map(own_words, messages)))


def full_request(history: Sequence[AnyMessage]) -> str:
    """Return the text of the newest request, with the messages that steered its run."""
    parts = [get_text(last_request(history))]
    later = list_steering(history)
    if later:
        parts += ["The user sent this later:", *map(get_text, later)]
    return "\n\n".join(parts)


def list_steering(history: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages that the user has sent during the newest run."""
    newer = messages_since(history, last_request(history).id)
    return [message for message in newer if STEER in message.additional_kwargs]


def has_attachments(message: BaseMessage) -> bool:
    """Return whether a request contains text or images that the user has not written."""
    if not isinstance(message, HumanMessage) or OWN_WORDS in message.additional_kwargs:
        return False
    if isinstance(message.content, list):
        for block in message.content:
            if isinstance(block, dict) and block.get("type") != "text":
                return True
    return any(map(_ATTACHED.search, _texts(message)))


def _typed_texts(message: HumanMessage) -> Iterator[str]:
    for text in _texts(message):
        attachment = _ATTACHED.search(text)
        yield text[: attachment.start()] if attachment else text


def _texts(message: HumanMessage) -> Iterator[str]:
    if isinstance(message.content, str):
        yield message.content
        return
    for block in message.content:
        yield block if isinstance(block, str) else str(block.get("text") or "")
