"""What a model server accepts in a request, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

_STRICT = {"call_ids": "[a-zA-Z0-9]{9}", "call_names": "[a-zA-Z][a-zA-Z0-9_]{0,63}"}
"""By field, the pattern of the strictest server: all others accept what matches it."""
_LIMITS = {"descriptions": "description_limit", "max_tokens": "reply_limit"}
"""Fields by the word before the colon, as in `descriptions:1024`."""
_NAMES = {
    "user_after_tool": "a user message after a tool message",
    "system_role": "the role `system`",
    "null_content": "`content: null`",
    "empty_content": "messages without text",
    "text_with_calls": "text in a message with tool calls",
    "images": "images",
    "tools": "tool calls",
    "json_schema": "parts of the tools' JSON schemas",
    "missing_reasoning": "earlier replies without their reasoning",
    "unsigned_calls": "earlier calls without a signature of the thought before them",
    "call_ids": "the ids of earlier calls",
    "call_names": "the names of calls",
}
"""Descriptions by word: what a server may refuse, apart from parameters."""


@dataclass(frozen=True, slots=True)
class ServerRules:
    """What a model server accepts; by default what a lenient one does.

    A word (`refusing`) names what a server refuses: a field of this class that is true or a pattern
    by default, `descriptions:N` or `max_tokens:N` for a limit, `tool:NAME` for a tool whose schema
    is refused in every form, otherwise a parameter of the request or a field of its messages.
    """

    user_after_tool: bool = True
    """Whether `user` may follow `tool`, and a role may follow itself."""
    system_role: bool = True
    null_content: bool = True
    """Whether the content of a message with calls may be null."""
    empty_content: bool = True
    """Whether the text of a message may be empty."""
    text_with_calls: bool = True
    """Whether a message with calls may have text."""
    images: bool = True
    tool_images: bool = False
    """Whether a tool message may contain images."""
    tools: bool = True
    """Whether tools and calls are part of the protocol; otherwise they are described as text."""
    json_schema: bool = True
    """Whether the schemas of tools may use all of JSON schema; otherwise a small part of it."""
    missing_reasoning: bool = True
    """Whether readable reasoning may be left out of earlier replies."""
    unsigned_calls: bool = True
    """Whether earlier calls may lack the signature of a thought, as those of other models do."""
    call_ids: str = ".+"
    """Pattern of the ids of calls."""
    call_names: str = "[a-zA-Z0-9_-]{1,64}"
    """Pattern of the names of tools and calls."""
    description_limit: int | None = None
    """Maximum characters of a description."""
    reply_limit: int | None = None
    """Maximum value of the parameter for the tokens of a reply."""
    token_names: tuple[str, ...] = ("max_tokens", "max_completion_tokens")
    """Names of that parameter, the preferred one first."""
    temperature_with_reasoning: bool = True
    """Whether a reasoning model accepts a temperature."""
    dropped: frozenset[str] = frozenset()
    """Parameters of the request, and fields of its messages, that are not sent."""
    left_out: frozenset[str] = frozenset()
    """Names of tools that are not offered."""

    def refusing(self, *words: str) -> ServerRules:
        """Return the rules of a server that also refuses what the words name."""
        rules = self
        for word in words:
            rules = replace(rules, **rules._change(word))
        return rules

    def _change(self, word: str) -> dict[str, Any]:
        name, _, value = word.partition(":")
        if name in _LIMITS and value.isdigit():
            return {_LIMITS[name]: int(value)}
        if name == "tool":
            return {"left_out": self.left_out | {value}}
        if word in _STRICT:
            return {word: _STRICT[word]}
        if word in _NAMES:
            return {word: False}
        return {"dropped": self.dropped | {word}}

    @property
    def token_name(self) -> str | None:
        """Return the name of the parameter for the tokens of a reply; None if all are refused."""
        return next((name for name in self.token_names if name not in self.dropped), None)


def describe_word(word: str) -> str:
    """Return what a word of `ServerRules.refusing` names, for messages."""
    name, _, value = word.partition(":")
    if name == "tool":
        return f"the tool `{value}`"
    if name == "descriptions":
        return f"descriptions of more than {value} characters"
    if value:
        return f"`{name}` above {value}"
    return _NAMES.get(word, f"`{word}`")
