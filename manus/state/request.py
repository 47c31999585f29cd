"""The request of a user, before it becomes a message."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its attachments."""

    text: str
    """The text the model reads, attached files included."""
    user_text: str
    """The part the user wrote. Only hosts and files named here count as named by the user."""
    is_tainted: bool = False
    """Whether the attached part is untrusted text."""

    def __bool__(self) -> bool:
        return bool(self.text)


def typed_request(text: str) -> Request:
    """Return a request without attachments."""
    return Request(text, text)
