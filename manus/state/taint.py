"""Taint: whether a thread has read untrusted text, and what a call has to know of it.

Untrusted is what anybody may have written: web pages, search results, what programs fetch, what MCP
servers say, attached files, the files of a folder that nobody trusts. The mark stays in the
messages, so that it outlives compaction, a resume and the hand-over to another agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage

from manus.prompts.sources import is_foreign
from manus.state.messages import SOURCE
from manus.state.user_words import OWN_WORDS, has_attachments, hosts_named

TAINTED = "outside"
"""In the `additional_kwargs` of a message, and with messages taken out: untrusted text was read."""

_ADDRESS = re.compile(r"https?://[^\s<>\"'|\]}`\\]+", re.IGNORECASE)
_PUNCTUATION = ".,;:!?)*_"


def is_tainted(messages: Iterable[AnyMessage], compaction: Mapping[str, Any] | None) -> bool:
    """Return whether any of the messages, or of those taken out before, held untrusted text."""
    if compaction and compaction.get(TAINTED):
        return True
    return any(_is_tainted(message) for message in messages)


def _is_tainted(message: AnyMessage) -> bool:
    about = message.additional_kwargs
    if TAINTED in about:
        return True
    return is_foreign(str(about.get(SOURCE, ""))) or has_attachments(message)


def addresses_in(text: str) -> set[str]:
    """Return the addresses in a text and those of their sites.

    Punctuation behind an address may be a part of it or of the sentence: both forms are returned.
    """
    addresses = set()
    for address in _ADDRESS.findall(text):
        addresses.add("/".join(address.split("/")[:3]))
        addresses.add(address)
        while address[-1] in _PUNCTUATION:
            address = address[:-1]
            addresses.add(address)
    return {with_path(address) for address in addresses}


def with_path(address: str) -> str:
    """Return an address with `/` as its path where it has none, as a browser asks for it."""
    return f"{address}/" if address.count("/") == 2 else address


def passed_on(words: str, *, tainted: bool) -> dict[str, Any]:
    """Return the `additional_kwargs` of a request that holds more than the user's own words."""
    return {OWN_WORDS: words, **({TAINTED: True} if tainted else {})}


def facts_of(
    messages: Sequence[AnyMessage], compaction: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return what a call has to know: the hosts that the user named, and the taint."""
    named = hosts_named(messages)
    facts = {
        "named": list(named.certain),
        "mentioned": list(named.ambiguous),
        "outside": is_tainted(messages, compaction),
    }
    return {name: fact for name, fact in facts.items() if fact}
