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

from langchain_core.messages import AnyMessage

from manus.prompts.sources import is_foreign
from manus.state.messages import SOURCE
from manus.state.user_words import OWN_WORDS, has_attachments, hosts_named

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
    return is_foreign(str(fields.get(SOURCE, ""))) or has_attachments(message)


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
    hosts = hosts_named(messages)
    facts = {
        "named": list(hosts.certain),
        "mentioned": list(hosts.ambiguous),
        "outside": is_tainted(messages, compaction),
    }
    return {name: fact for name, fact in facts.items() if fact}
