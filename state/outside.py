"""Whether a thread has read text from outside, and which hosts its user has named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from manus.prompts.sources import is_foreign
from manus.state.messages import SOURCE, text_of

ASKED = "asked"
"""In the `additional_kwargs` of a request that an agent wrote: what the user had said."""
OUTSIDE = "outside"
"""There, and of messages that were taken out: what was written may come from outside."""

_ADDRESS = re.compile(r"https?://[^\s<>\"'|\]}`\\]+", re.IGNORECASE)
_HOST = re.compile(
    r"https?://(?:[^\s/@]*@)?(?P<host>[\w.-]+)"
    r"|(?<![\w@./-])(?P<bare>(?:[\w-]+\.)+[a-z]{2,}|(?:\d+\.){3}\d+)(?![\w-])",
    re.IGNORECASE,
)
_FILES = re.compile(r"\.(?:md|py|sh|rs|pl|zip|mov|java|so|cc|ps|ts|ai)$", re.IGNORECASE)
"""Ends of names that are files more often than hosts."""


def has_read_outside(messages: Iterable[AnyMessage], compaction: Mapping[str, Any] | None) -> bool:
    """Whether anything that a model has read here may have been written by anybody."""
    said = (m.additional_kwargs for m in messages)
    return bool(compaction and compaction.get(OUTSIDE)) or any(
        OUTSIDE in about or (SOURCE in about and is_foreign(str(about[SOURCE]))) for about in said
    )


def hosts_named(messages: Iterable[AnyMessage]) -> list[str]:
    """The hosts in what the user has said: in requests, and in answers to questions."""
    said = [
        str(m.additional_kwargs.get(ASKED, text_of(m)))
        for m in messages
        if isinstance(m, HumanMessage) or (isinstance(m, ToolMessage) and m.name == "ask_human")
    ]
    return list(dict.fromkeys(host for text in said for host in _hosts_in(text)))


@lru_cache(maxsize=64)
def _hosts_in(text: str) -> tuple[str, ...]:
    found = list(_HOST.finditer(text))
    hosts = [m["host"] or ("" if _FILES.search(m["bare"]) else m["bare"]) for m in found]
    return tuple(h.lower().strip(".").removeprefix("www.") for h in hosts if h.strip("."))


def addresses_in(text: str) -> set[str]:
    """The addresses of pages in a text and of their sites, each as `as_seen` has it."""
    found = _ADDRESS.findall(text)
    return {as_seen(part) for a in found for part in (a, "/".join(a.split("/")[:3]))}


def as_seen(address: str) -> str:
    """An address in the form in which it is compared with those that were read."""
    return address.strip().partition("#")[0].rstrip("/.,;:!?)*_")


def passed_on(asked: str, outside: bool) -> dict[str, Any]:
    """What the request of an inner run says of it in its `additional_kwargs`."""
    return {ASKED: asked, **({OUTSIDE: True} if outside else {})}


def facts_of(
    messages: Sequence[AnyMessage], compaction: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What a call has to know of both."""
    facts = {"named": hosts_named(messages), OUTSIDE: has_read_outside(messages, compaction)}
    return {name: fact for name, fact in facts.items() if fact}
