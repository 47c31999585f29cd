"""What a thread has read: untrusted text, and something private. Both facts only grow.

Untrusted text (a possible prompt injection) is whatever others may have written: web pages, search
results, text that programs fetch, results of MCP servers, attached files, files of an untrusted
folder. Private is what an injection could steal: files, attachments, memory, pages behind a login.
The marks are stored with the messages, so that they survive compaction, a resume and the delegation
to another agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage

from manus.prompts.sources import is_foreign
from manus.state.history import PerMessage, shared_length
from manus.state.messages import SOURCE, is_request
from manus.state.request import ASK_HUMAN, OWN_WORDS, has_attachments, own_words

TAINTED = "outside"
"""Mark in a message's `additional_kwargs`, and in the compaction: untrusted text was read."""
PRIVATE = "private"
"""Mark at the same places: something private was read."""

_ADDRESS = re.compile(r"https?://[^\s<>\"'|\]}`\\]+", re.IGNORECASE)
_BARE_ADDRESS = re.compile(
    r"(?<![\w@./:-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?![\w@-])(?:/[\w./?=&%#~+:-]*)?",
    re.IGNORECASE | re.ASCII,
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_PUNCTUATION = ".,;:!?)*_"


class Exposure(NamedTuple):
    """Which of the two kinds of text have been read."""

    untrusted: bool = False
    private: bool = False

    def __or__(self, other: Exposure) -> Exposure:
        """Return what either has read."""
        return Exposure(self.untrusted or other.untrusted, self.private or other.private)

    def marks(self) -> dict[str, bool]:
        """Return the marks for a message or a compaction."""
        return {name: True for name, has in zip((TAINTED, PRIVATE), self, strict=True) if has}


def find_exposure(
    messages: Iterable[AnyMessage], compaction: Mapping[str, Any] | None = None
) -> Exposure:
    """Return what the messages, and those removed by compaction, have read."""
    exposure = read_marks(compaction or {})
    for message in messages:
        exposure |= _read_exposure(message)
    return exposure


def read_marks(marks: Mapping[str, Any]) -> Exposure:
    """Return the exposure that was stored as marks."""
    return Exposure(bool(marks.get(TAINTED)), bool(marks.get(PRIVATE)))


def _find_in(message: BaseMessage) -> Exposure:
    fields = message.additional_kwargs
    exposure = read_marks(fields)
    if isinstance(message, HumanMessage) and has_attachments(message):
        return Exposure(untrusted=True, private=True)
    return exposure | Exposure(untrusted=is_foreign(str(fields.get(SOURCE, ""))))


_read_exposure = PerMessage(_find_in).of


def addresses_in(text: str) -> set[str]:
    """Return the URLs in a text, and those of their sites.

    Punctuation after a URL may be a part of it or of the sentence: both forms are returned.
    """
    addresses = set()
    for address in _ADDRESS.findall(text):
        addresses.add("/".join(address.split("/")[:3]))
        addresses.update(_without_punctuation(address))
    return set(map(with_path, addresses))


def typed_addresses(words: str) -> set[str]:
    """Return the whole addresses in the user's own words, with and without a scheme.

    In a script without spaces, an address may also end where that script continues.
    """
    addresses = addresses_in(words) | addresses_in(_NOT_ASCII.sub(" ", words))
    for bare in _BARE_ADDRESS.findall(_ADDRESS.sub(" ", words)):
        for form in _without_punctuation(bare):
            addresses.update((with_path(f"http://{form}"), with_path(f"https://{form}")))
    return addresses


def _without_punctuation(address: str) -> Iterable[str]:
    """Yield an address as it stands, and without the punctuation at its end."""
    yield address
    while address and address[-1] in _PUNCTUATION:
        address = address[:-1]
        yield address


def with_path(address: str) -> str:
    """Return a URL with `/` as its path if it has none, as a browser requests it."""
    return f"{address}/" if address.count("/") == 2 else address


def request_fields(words: str, exposure: Exposure) -> dict[str, Any]:
    """Return the `additional_kwargs` of a request with more text than the user's own words."""
    return {OWN_WORDS: words, **exposure.marks()}


def collect_facts(
    messages: Sequence[AnyMessage], compaction: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the facts that a call needs: the addresses that the user typed, and the exposure."""
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
        self._exposure = Exposure()

    def read(self, messages: Sequence[AnyMessage]) -> None:
        """Read the messages that have been appended since the last call."""
        history = list(messages)
        length = shared_length(self._history, history)
        if length < len(self._history):
            self._reset()
            length = 0
        new = history[length:]
        for exposure in {*map(_read_exposure, new)}:
            self._exposure |= exposure
        for message in new:
            if isinstance(message, HumanMessage) and is_request(message):
                self.request = message
            if isinstance(message, HumanMessage) or message.name == ASK_HUMAN:
                self.words = "\n\n".join(filter(None, (self.words, own_words(message))))
        self._history = history

    def collect(self, compaction: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the facts that a call needs: the addresses that the user typed, the exposure."""
        typed = sorted(typed_addresses(self.words))
        exposure = self._exposure | read_marks(compaction or {})
        return {**({"named": typed} if typed else {}), **exposure.marks()}
