"""Learn a server's rules from its refusal of a request, and remember them for its endpoint.

No provider is known here: a refusal is read for the name of a parameter that was sent, or for words
about a part that the request has. What is learnt is kept only if the server then accepts it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manus.config.model_settings import ModelSettings
from manus.models.errors import ErrorFacts, find_lower_limit, is_too_large
from manus.models.providers import get_address
from manus.models.server_rules import ServerRules, describe_word

log = logging.getLogger("manus")

MAX_CHANGES = 5
"""Changes of the rules in one request: a server may refuse several things in a row."""
_OTHER_STATUSES = (401, 402, 403, 407, 408, 429)
"""Statuses that do not concern the form of a request."""
_ECHOES = ("input", "url", "failed_generation")
"""Keys of an error below which a server repeats the request, or refers to its documentation."""
_ORDINARY = ("stop", "stream", "user", "seed", "n", "logprobs", "reasoning", "thinking", "name")
"""Parameters whose names are ordinary words: they count only in quotes, or in a path."""
_DESCRIPTIONS = "descriptions:100"
_DESCRIPTION = 1024
"""Characters of a description that are sent if a refusal names no limit."""
_MIN_DESCRIPTION = 100
"""Smaller numbers in a refusal are not limits."""
_REFUSED = r"(?:not |n't |un|in)(?:\w+ )?(?:support|enabl|allow|accept|permit|valid|recogni|avail)"
# The first kind whose words occur, and that would change the request, is what is refused.
_KINDS: tuple[tuple[str, str], ...] = (
    ("missing_reasoning", r"reasoning_content\W.{0,60}(?:must|missing|required|pass)"),
    ("unsigned_calls", r"thought_?signature"),
    ("user_after_tool", r"alternat|consecutive|successive|message[_ ]order|role.{0,30} after "
     r"|(?:unexpected|invalid|wrong) (?:message )?role|in a row|followed by (?:an? )?\W?assistant"
     r"|after (?:a |the )?\W?tool|order of (?:the )?(?:message|role)"),
    ("system_role", rf"system\W+(?:role|message|prompt|instruction).{{0,60}}{_REFUSED}"
     rf"|role\W+system\b.{{0,60}}{_REFUSED}"
     rf"|role.{{0,60}}{_REFUSED}.{{0,20}}\Wsystem|{_REFUSED}.{{0,40}}\Wsystem\W+(?:role|message)"
     r"|developer instruction|only user and assistant"),
    ("text_with_calls", r"either content or tool_?calls|both content and tool|not both"),
    (_DESCRIPTIONS, r"description.{0,160}(?:long|max|most|length|exceed|limit|less|fewer|short)"
     r"|(?:long|max|most|length|exceed|limit).{0,80}description"),
    ("call_names", r"(?:function|tool|call)\w*(?:\W{0,3}\d*\W{0,3}function)?[_. ]name|toolUse\.name"
     r"|name.{0,80}(?:pattern|a-z|character|long)|名称|start with a letter"),
    ("call_ids", r"(?:tool|function|call|use)s?\W{0,2}(?:\d+\W{1,2})?[_ .]?id\b|toolUseId"),
    ("stream", rf"stream(?:ing|ed)?\b.{{0,40}}{_REFUSED}|{_REFUSED}.{{0,30}}\bstream"),
    ("images", r"image|vision|multi-?modal|mmproj"),
    ("empty_content", r"(?:\bcontent|text|message).{0,80}(?:empty|blank|at least 1|minimum)"
     r"|(?:empty|blank).{0,40}(?:content|text|message)"),
    ("null_content", r"\bcontent.{0,100}(?:null|nil|none|string|str\b|required|missing|empty)"
     r"|null.{0,40}content"),
    ("images", r"\bcontent.{0,100}(?:string|array|list|sequence)"
     r"|(?:string|array|list|sequence).{0,60}\bcontent"),
    ("json_schema", r"schema|function_?declaration|parameters|propert|\benum|anyOf|oneOf|\$ref"
     r"|grammar|tools?\W{1,2}\d"),
    ("tools", r"\btools\W{1,6}extra (?:fields|inputs)"
     r"|(?:tool|function)s?\b.{0,60}(?:(?:not |n't |un)(?:support|enabl|avail)|require)"
     r"|tool-call-parser|support (?:tool|function)|(?:not |n't |un)support.{0,30}(?:tool|function)"
     r"|only user and assistant|alternat"),
)  # fmt: skip
WORDS = tuple(dict.fromkeys(word for word, _ in _KINDS))
"""Words of `ServerRules.refusing` that a refusal can mean, apart from parameters."""
_PATTERNS = [(word, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for word, pattern in _KINDS]
_NUMBER = re.compile(r"\b\d+\b")
_INDEX = re.compile(r"(?:tools|function_declarations|functions)\W{1,2}(\d+)", re.IGNORECASE)

Key = tuple[str | None, str | None]
# Words of `ServerRules.refusing` by address and model, shared by all runs of the process.
_learned: dict[Key, tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True)
class SentRequest:
    """What a request contained that a server may refuse."""

    parameters: Mapping[str, Any]
    """Parameters, and optional fields of messages where no provider's package writes them."""
    tools: Sequence[str]
    """Names of the tools."""
    parts: frozenset[str]
    """Words of `ServerRules.refusing` that would change the request."""
    chosen: frozenset[str] = frozenset()
    """Parameters that the user has chosen."""


def learned_words(endpoint: ModelSettings) -> tuple[str, ...]:
    """Return the words for what the server of an endpoint has refused in this process."""
    return _learned.get((endpoint.base_url, endpoint.model), ())


def remember(endpoint: ModelSettings, words: tuple[str, ...], sent: SentRequest) -> None:
    """Remember what a server has refused; warn if the user would notice the change."""
    _learned[endpoint.base_url, endpoint.model] = (*learned_words(endpoint), *words)
    noticeable = [word for word in words if _is_noticeable(word, sent)]
    log.log(
        logging.WARNING if noticeable else logging.INFO,
        "The model server at %s refuses %s; requests to it are sent without that from now on. To "
        "have them so from the start, set %s in manus.toml.",
        get_address(endpoint),
        join_words(words),
        as_setting(words),
    )


def _is_noticeable(word: str, sent: SentRequest) -> bool:
    name, has_value, _ = word.partition(":")
    return (
        word in ("images", "tools") or name in sent.chosen or (name == "tool" and bool(has_value))
    )


def join_words(words: Iterable[str]) -> str:
    """Return what the words name, for messages."""
    return ", ".join(map(describe_word, words))


def as_setting(words: Iterable[str]) -> str:
    """Return the line of the settings that has the same effect as what was learnt."""
    return f"refuses = [{', '.join(map(json.dumps, words))}]"


def find_change(error: Exception, sent: SentRequest, rules: ServerRules) -> str | None:
    """Return the word for what a server refuses in a request; None if it is nothing that changes.

    A request that is too large is compacted elsewhere, unless the server complains about the
    maximum of the reply.
    """
    facts = ErrorFacts(error)
    if facts.status in _OTHER_STATUSES or not (facts.details or facts.body or facts.status):
        return None
    text = "\n".join(_list_texts(facts.details or facts.message))
    name = _find_parameter(str(facts.details.get("param")), text, sent)
    is_large = is_too_large(facts)
    limit = _find_reply_limit(text, sent, rules)
    if limit is not None and (is_large or name in rules.token_names):
        return limit
    if is_large:
        return None
    if name is not None:
        return name
    for word, pattern in _PATTERNS:
        if word in sent.parts and pattern.search(text):
            change = _with_limit(text) if word == _DESCRIPTIONS else word
            if rules.refusing(change) != rules:
                return change
    return limit or _find_tool(text, sent)


def _find_reply_limit(text: str, sent: SentRequest, rules: ServerRules) -> str | None:
    """Return the word for the limit of a reply that the server accepts; None if it names none."""
    for name in rules.token_names:
        limit = find_lower_limit(text, sent.parameters.get(name) or 0)
        if limit is not None:
            return f"max_tokens:{limit}"
    return None


def is_lasting(word: str, error: Exception) -> bool:
    """Return whether a change concerns every request, not the rest of the window for this one."""
    name, _, limit = word.partition(":")
    return name != "max_tokens" or limit in ErrorFacts(error).message.replace(",", "")


def _list_texts(value: Any) -> Iterator[str]:
    """Yield the texts of an error, also those in JSON within a text, and each path in one text."""
    if isinstance(value, str):
        start = value.find("{")
        inner = None
        if start >= 0:
            with contextlib.suppress(ValueError):
                inner, _ = json.JSONDecoder().raw_decode(value[start:])
        yield value[:start] if isinstance(inner, dict) else value
        value = inner
    if isinstance(value, dict):
        for key, member in value.items():
            if key not in _ECHOES:
                yield from _list_texts(member)
    elif isinstance(value, list):
        if value and all(isinstance(member, str | int) for member in value):
            yield ".".join(map(str, value))
        else:
            for member in value:
                yield from _list_texts(member)


def _find_parameter(param: str, text: str, sent: SentRequest) -> str | None:
    """Return the parameter that a refusal is about: the longest of those that it mentions."""
    if param in sent.parameters:
        return param
    for name in sorted(sent.parameters, key=len, reverse=True):
        mention = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        if name in _ORDINARY:
            mention = rf"['\"`.]{re.escape(name)}(?:['\"`.]|$)"
        if re.search(mention, text, re.MULTILINE):
            return name
    return None


def _with_limit(text: str) -> str:
    numbers = [int(number) for number in _NUMBER.findall(text)]
    limits = [number for number in numbers if number >= _MIN_DESCRIPTION]
    return f"descriptions:{min(limits, default=_DESCRIPTION)}"


def _find_tool(text: str, sent: SentRequest) -> str | None:
    """Return the word for the tool whose schema a server refuses in every form."""
    for name in sent.tools:
        if re.search(rf"['\"`]{re.escape(name)}['\"`]", text):
            return f"tool:{name}"
    index = _INDEX.search(text)
    if index is None or int(index[1]) >= len(sent.tools):
        return None
    return f"tool:{sent.tools[int(index[1])]}"
