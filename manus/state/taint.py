"""Taint: whether a thread has read untrusted text, and the facts that a tool call needs about it.

Untrusted text (a possible prompt injection) is whatever others may have written: web pages, search
results, text that programs fetch, results of MCP servers, attached files, files of an untrusted
folder. The mark is stored with the messages, so that it survives compaction, a resume and the
delegation to another agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage

from manus.prompts.sources import is_foreign
from manus.state.messages import SOURCE, is_request, shared_length
from manus.state.user_words import (
    ASK_HUMAN,
    OWN_WORDS,
    has_attachments,
    own_words,
    sort_hosts,
    update_hosts,
)

TAINTED = "outside"
"""Mark in a message's `additional_kwargs`, and in the compaction: untrusted text was read."""

_ADDRESS = re.compile(r"https?://[^\s<>\"'|\]}`\\]+", re.IGNORECASE)
_PUNCTUATION = ".,;:!?)*_"


def is_tainted(messages: Iterable[AnyMessage], compaction: Mapping[str, Any] | None) -> bool:
    """Return whether any of the messages, or of those removed by compaction, is tainted."""
    if compaction and compaction.get(TAINTED):
        return True
    return any(map(_is_tainted, messages))


def _is_tainted(message: AnyMessage) -> bool:
    fields = message.additional_kwargs
    if TAINTED in fields:
        return True
    if SOURCE in fields and is_foreign(str(fields[SOURCE])):
        return True
    return isinstance(message, HumanMessage) and has_attachments(message)


def addresses_in(text: str) -> set[str]:
    """Return the URLs in a text, and those of their sites.

    Punctuation after a URL may be a part of it or of the sentence: both forms are returned.
    """
    addresses = set()
    for address in _ADDRESS.findall(text):
        addresses.add("/".join(address.split("/")[:3]))
        addresses.add(address)
        while address[-1] in _PUNCTUATION:
            address = address[:-1]
            addresses.add(address)
    return set(map(with_path, addresses))


def with_path(address: str) -> str:
    """Return a URL with `/` as its path if it has none, as a browser requests it."""
    return f"{address}/" if address.count("/") == 2 else address


def request_fields(words: str, *, tainted: bool) -> dict[str, Any]:
    """Return the `additional_kwargs` of a request with more text than the user's own words."""
    fields: dict[str, Any] = {OWN_WORDS: words}
    if tainted:
        fields[TAINTED] = True
    return fields


def collect_facts(
    messages: Sequence[AnyMessage], compaction: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the facts that a call needs: the hosts that the user has named, and the taint."""
    history = HistoryFacts()
    history.read(messages)
    return history.collect(compaction)


class HistoryFacts:
    """The facts about a history that grows at its end; each message is read once.

    If the history has changed elsewhere, all of it is read again.
    """

    def __init__(self) -> None:
        self._history: list[AnyMessage] = []
        self._reset()

    def _reset(self) -> None:
        self.request = HumanMessage("", id="")
        """The user's newest request; an empty one, with an empty id, if there is none."""
        self.words = ""
        """The user's own words, an empty line between requests and answers."""
        self._hosts: dict[str, bool] = {}
        self._is_tainted = False

    def read(self, messages: Sequence[AnyMessage]) -> None:
        """Read the messages that have been appended since the last call."""
        history = list(messages)
        length = shared_length(self._history, history)
        if length < len(self._history):
            self._reset()
            length = 0
        for message in history[length:]:
            self._is_tainted = self._is_tainted or _is_tainted(message)
            if isinstance(message, HumanMessage) and is_request(message):
                self.request = message
            if isinstance(message, HumanMessage) or message.name == ASK_HUMAN:
                self._read_words(own_words(message))
        self._history = history

    def _read_words(self, words: str) -> None:
        if words:
            update_hosts(self._hosts, words)
            self.words = "\n\n".join(filter(None, (self.words, words)))

    def collect(self, compaction: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the facts that a call needs: the hosts that the user has named, and the taint."""
        hosts = sort_hosts(self._hosts)
        facts = {
            "named": list(hosts.certain),
            "mentioned": list(hosts.ambiguous),
            "outside": self._is_tainted or bool(compaction and compaction.get(TAINTED)),
        }
        return {name: fact for name, fact in facts.items() if fact}
