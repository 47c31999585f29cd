"""Split a long text into chunks, and select those that match a query."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_CHUNK_SIZE = 800
"""Maximum number of characters of a chunk; fewer if the limit of the excerpt is small."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_LEFT_OUT = "\n[…]\n"


def excerpt(text: str, query: str, limit: int) -> str:
    """Return the chunks of a text that best match a query, in order, in `limit` characters.

    Rare words weigh more than frequent ones. Without a match, return the beginning of the text.
    """
    if len(text) <= limit:
        return text
    chunks = split_text(text, min(_CHUNK_SIZE, limit // 4))
    query_words = extract_words(query)
    matches = [extract_words(piece) & query_words for piece in chunks]
    frequencies: Counter[str] = Counter()
    for matched_words in matches:
        frequencies.update(matched_words)
    scores = [sum(1 / frequencies[word] for word in matched_words) for matched_words in matches]
    selected: set[int] = set()
    room = limit - len(_LEFT_OUT)
    for index in sorted(range(len(chunks)), key=lambda index: -scores[index]):
        if (cost := len(chunks[index]) + len(_LEFT_OUT)) > room:
            break
        selected.add(index)
        room -= cost
    return _join_selected(chunks, selected).strip("\n")


def _join_selected(chunks: list[str], selected: set[int]) -> str:
    """Join the selected chunks, with an ellipsis for each gap."""
    parts = []
    for index, chunk in enumerate(chunks):
        if index in selected:
            parts.append(chunk)
        elif index == 0 or index - 1 in selected:
            parts.append(_LEFT_OUT)
    return "".join(parts)


def extract_words(text: str) -> set[str]:
    """Return the words of a text without accents; pairs of characters in scripts without spaces."""
    unaccented = "".join(
        c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)
    )
    result: set[str] = set()
    for word in re.findall(r"\w+", unicodedata.normalize("NFC", unaccented).lower()):
        if _CJK.search(word):
            result.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            result.add(word[:-1] if len(word) > 3 and word.endswith("s") else word)
    return result


def split_text(text: str, size: int) -> list[str]:
    """Split a text into chunks of at most `size` characters, between paragraphs, lines or words."""
    chunks: list[str] = []
    start = 0
    while start < len(text):
        end = start + size
        for separator in ("\n\n", "\n", " "):
            if end < len(text) and (position := text.rfind(separator, start + size // 2, end)) > 0:
                end = position + len(separator)
                break
        chunks.append(text[start:end])
        start = end
    return chunks
