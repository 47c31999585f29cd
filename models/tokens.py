"""How many tokens a request has, told without a tokenizer's tables.

A text is taken apart the way the tokenizers of today's models do before they look anything up:
into words, runs of digits, signs and space, and scripts. What such a piece costs on average was
fitted by least squares to the vocabulary `o200k_base` over code, data, logs and prose of some
thirty languages. Other vocabularies differ by a factor that hardly changes within a run, so a
`Calibration` learns it from the figures that the server itself reports.
"""

from __future__ import annotations

import json
import re
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from manus.models.image_tokens import image_tokens
from manus.models.languages import cyrillic_cost, latin_cost
from manus.models.sealed import length_of, sealed_text
from manus.models.thoughts import words_sent

_LATIN = "À-ɏḀ-ỿ"
_OPAQUE = 24
"""Letters and digits in a row, mixed, of which no vocabulary knows a longer part."""
_LONG = re.compile(rf"[A-Za-z\d+/]{{{_OPAQUE},}}={{0,2}}")
_ACCENTED = re.compile(f"[A-Za-z{_LATIN}]*[{_LATIN}][A-Za-z{_LATIN}]*")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DIGITS = re.compile(r"\d+")
_MARKS = r"!-/:-@\[-`{-~"
# A tokenizer joins a single sign to the letters behind it, and a line's end to the signs before it.
_BEFORE_LETTER = re.compile(rf"[{_MARKS}]+(?=[A-Za-z])")
_BEFORE_DIGIT = re.compile(rf"[{_MARKS}]+(?=\d)")
_BEFORE_OTHER = re.compile(rf"[{_MARKS}]+(?![A-Za-z\d{_MARKS}])")
_LINE_END = re.compile(r"[^\W_](?=\r?\n)")
_GAP = re.compile("  +|\t\t+")
_SPACE_DIGIT = re.compile(r"[ \t](?=\d)")
_WORD_COSTS = ((3, 0.90), (7, 1.03), (10, 1.38), (14, 2.16))
"""Up to so many letters, tokens a word; each letter more costs `_MORE_LETTERS`."""
_MORE_LETTERS = 0.4
_CYRILLIC = re.compile("[Ѐ-ԯ]+")
_SCRIPTS = (
    (re.compile("[Ͱ-Ͽ]+"), 0.40),  # Greek
    (re.compile("[\u0590-\u05ff]+"), 0.47),  # Hebrew
    (re.compile("[\u0600-\u06ff]+"), 0.37),  # Arabic
    (re.compile("[\u0900-\u097f]+"), 0.38),  # Devanagari
    (re.compile("[\u0980-\u0dff]+"), 0.43),  # Bengali to Sinhala
    (re.compile("[\u0e00-\u0eff]+"), 0.40),  # Thai, Lao
    (re.compile("[\u3040-\u30ff]+"), 0.72),  # Kana
    (re.compile("[\u3400-\u9fff\uf900-\ufaff]+"), 0.78),  # Han
    (re.compile("[\uac00-\ud7af]+"), 0.75),  # Hangul
    (re.compile("[\u3000-\u303f\uff00-\uffef]+"), 0.05),  # their punctuation
    (re.compile("[\u2000-\u2bff]+"), 0.59),  # signs, arrows, boxes
    (re.compile("[\U00010000-\U0010ffff]+"), 3.1),  # emoji and what is rare
)
_MESSAGE = 4
"""Tokens around each message, for its role and its ends."""
_CALL = 9
"""Tokens around each tool call."""
_SEALED = 0.25
"""Tokens of a character that is signed or encrypted; what servers count of these, none says."""
_SAMPLED = 24_000
"""Characters of a text that are looked at; of a longer one `_PARTS` parts are taken."""
_PARTS = 8


def estimate_text(text: str) -> float:
    """About how many tokens a text has."""
    if len(text) > _SAMPLED:
        return _sampled(text)
    total = 0.0
    if max(map(len, text.split()), default=0) >= _OPAQUE:
        for run in _LONG.findall(text):
            if not run.isalpha() and not run.isdigit():  # base64, a digest
                total += 0.62 * len(run)
                text = text.replace(run, " ", 1)
    cost, latin = latin_cost(text) or _word_cost, text
    if not text.isascii():
        accented = _ACCENTED.findall(text)
        total += sum(map(cost, map(len, accented)))
        total += _other_scripts(text)
        latin = _ACCENTED.sub("一", text) if accented else text
    total += _costs(_WORD.findall(latin), cost) + _signs(text)
    total += 1.1 * sum((len(run) + 2) // 3 for run in _DIGITS.findall(text))
    total += 1.1 * len(_LINE_END.findall(text))
    total += 1.05 * len(_GAP.findall(text))
    total += 1.1 * len(_SPACE_DIGIT.findall(text))
    return max(total, 1.0) if text else 0.0


def _sampled(text: str) -> float:
    """The estimate of a long text, from parts of it that are spread evenly."""
    step = len(text) // _PARTS
    parts = [text[i * step : i * step + _SAMPLED // _PARTS] for i in range(_PARTS)]
    return sum(map(estimate_text, parts)) * len(text) / sum(map(len, parts))


def _other_scripts(text: str) -> float:
    total = sum(cost * sum(map(len, script.findall(text))) for script, cost in _SCRIPTS)
    cyrillic = _CYRILLIC.findall(text)
    return total + (_costs(cyrillic, cyrillic_cost(text)) if cyrillic else 0.0)


def _costs(words: Sequence[str], cost: Callable[[int], float]) -> float:
    return sum(n * cost(size) for size, n in Counter(map(len, words)).items())


def _word_cost(letters: int) -> float:
    longest, cost = next((c for c in _WORD_COSTS if letters <= c[0]), _WORD_COSTS[-1])
    return cost + _MORE_LETTERS * max(0, letters - longest)


def _signs(text: str) -> float:
    costs = ((_BEFORE_LETTER, 0.40, 0.97), (_BEFORE_DIGIT, 0.94, 1.8), (_BEFORE_OTHER, 0.82, 1.44))
    return sum(
        n * (one if size == 1 else several + 0.1 * max(0, size - 3))
        for runs, one, several in costs
        for size, n in Counter(map(len, runs.findall(text))).items()
    )


def estimate_message(message: BaseMessage, provider: str = "openai") -> float:
    """About how many tokens a message has in a request, its calls and images included."""
    key = id(message), provider
    known = _known.get(key)
    if known is not None and known[0]() is message:
        return known[1]
    total = _MESSAGE + _content(message.content, provider)
    if isinstance(message, AIMessage):
        thought, sealed = sealed_text(message)
        total += estimate_text(thought) + estimate_text(words_sent(message)) + _SEALED * sealed
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            args = call["args"]
            text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
            total += _CALL + estimate_text(f"{call['name']} {text}")
    elif isinstance(message, ToolMessage):
        total += 3
    gone = weakref.ref(message, lambda _: _known.pop(key, None))
    _known[key] = (gone, total)
    return total


# A message is written once and stands in every later request.
_known: dict[tuple[int, str], tuple[weakref.ref[BaseMessage], float]] = {}


def _content(content: str | Sequence[Any], provider: str) -> float:
    if isinstance(content, str):
        return estimate_text(content)
    return sum(_block(block, provider) for block in content)


def _block(block: Any, provider: str) -> float:
    if isinstance(block, str):
        return estimate_text(block)
    if not isinstance(block, Mapping):
        return 0.0
    if block.get("type") in ("image", "image_url"):
        return image_tokens(block, provider)
    if isinstance(inner := block.get("reasoning_content"), Mapping):  # Bedrock's
        block = inner
    text = block.get("text") or block.get("thinking") or block.get("reasoning") or ""
    seals = (block.get("signature"), block.get("data"), block.get("extras"))
    return estimate_text(str(text)) + _SEALED * sum(map(length_of, seals))


def estimate_tools(tools: Sequence[Mapping[str, Any]] | None) -> float:
    """About how many tokens the descriptions of tools have in a request."""
    return sum(_tool(json.dumps(tool)) for tool in tools or ())


@lru_cache(256)
def _tool(described: str) -> float:
    return 0.75 * estimate_text(described)


def estimate_request(
    messages: Sequence[BaseMessage],
    tools: Sequence[Mapping[str, Any]] | None = None,
    provider: str = "openai",
) -> float:
    """About how many tokens a whole request has."""
    return 3 + estimate_tools(tools) + sum(estimate_message(m, provider) for m in messages)


class Calibration:
    """What an estimate must be multiplied by, learned from a server's own figures."""

    LOW, HIGH = 0.4, 3.0
    """Beyond these a server counts something else: its figures are not learned from."""
    _MEMORY = 0.7

    def __init__(self) -> None:
        self.factor = 1.0
        self.highest: float | None = None
        """The most tokens that a server counted for one that was estimated; None: it never did."""
        self.longest = 0
        """Tokens of the longest reply."""
        self._known = False
        self._calls = 0

    def saw(self, estimated: float, counted: int, said: int) -> None:
        """A call was made: an estimate without the factor, and the server's counts."""
        self.longest = max(self.longest, said)
        if estimated >= 1 and counted >= 1:
            self.highest = max(self.highest or 0.0, counted / estimated)

    def is_due(self) -> bool:
        """Whether this call is one to learn from: the 1st, 2nd, 4th, 8th and so on.

        The factor hardly changes within a run, and an estimate costs time.
        """
        self._calls += 1
        return self._calls & (self._calls - 1) == 0

    def learn(self, estimated: float, counted: int) -> None:
        """One more pair of an estimate without the factor and the server's count."""
        if estimated < 1 or counted < 1:
            return
        seen = counted / estimated
        if not self.LOW <= seen <= self.HIGH:
            return
        self.factor = (
            self._MEMORY * self.factor + (1 - self._MEMORY) * seen if self._known else seen
        )
        self._known = True

    def __call__(self, estimated: float) -> int:
        """The estimate, calibrated."""
        return max(0, round(self.factor * estimated))
