"""What a model thinks aloud before it answers, told from the answer: `<think>…</think>`.

Servers without a reasoning parser leave the tags in the text. They count only at its beginning, so
that an answer may speak of them; a call in a thought is no call.
"""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage

REASONING = "reasoning_content"
"""In a message's `additional_kwargs`: what the model thought before it answered."""
THOUGHT_AS = "thought_as"
"""Beside it, where the server has another name for it: that name."""
IN_TEXT = "<think>"
"""That name where the thought stood in the text itself."""
GOES_BACK = "thought_goes_back"
"""Beside it: its words are in later requests."""
_OPEN = re.compile(r"\s*<(think|thinking|thought)>", re.IGNORECASE)
_OPENS = ("<think>", "<thinking>", "<thought>")
# Templates that end in the opening tag leave only the closing one, on a line of its own.
_ONLY_CLOSED = re.compile(r"\A(.*?)\n[ \t]*</think>[ \t]*(?:\n|\Z)", re.DOTALL)


class ThoughtReader:
    """Takes the text of a reply piece by piece; gives what is thought and what is said of it."""

    def __init__(self) -> None:
        self._held = ""
        self._close: str | None = None
        self._begins = True
        self._decided = False

    def feed(self, piece: str) -> tuple[str, str]:
        """What is thought and what is said, as far as this piece decides it."""
        self._held += piece
        if not self._decided and not self._decide():
            return "", ""
        if self._close is None:
            return "", self._said()
        found = self._held.lower().find(self._close)
        if found >= 0:
            thought, self._held = self._held[:found], self._held[found + len(self._close) :]
            self._close = None
            return thought, self._said()
        return self._thought(self._close), ""

    def end(self) -> tuple[str, str]:
        """What was held back."""
        rest, self._held = self._held, ""
        return (rest, "") if self._close is not None else ("", rest)

    def _decide(self) -> bool:
        """Whether it is known by now if the text begins with a thought."""
        if opened := _OPEN.match(self._held):
            self._close = f"</{opened[1].lower()}>"
            self._held = self._held[opened.end() :]
        elif any(tag.startswith(self._held.strip().lower()) for tag in _OPENS):
            return False
        else:
            self._begins = False
        self._decided = True
        return True

    def _said(self) -> str:
        """What is held is said; the empty lines behind a thought are not."""
        if self._begins:
            self._held = self._held.lstrip()
            self._begins = not self._held
        said, self._held = self._held, ""
        return said

    def _thought(self, close: str) -> str:
        """What of the text cannot be the beginning of the closing tag."""
        sizes = range(min(len(close), len(self._held)), 0, -1)
        held = next((n for n in sizes if close.startswith(self._held[-n:].lower())), 0)
        cut = len(self._held) - held
        thought, self._held = self._held[:cut], self._held[cut:]
        return thought


def thought_apart(text: str) -> tuple[str, str]:
    """What is thought and what is said in a whole text."""
    if (found := _ONLY_CLOSED.match(text)) and not re.search(r"<think", found[1], re.IGNORECASE):
        return found[1].strip(), text[found.end() :].lstrip()
    reader = ThoughtReader()
    parts = [reader.feed(text), reader.end()]
    return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]


def words_sent(message: AIMessage) -> str:
    """The words of a thought, where they are sent back."""
    kept = message.additional_kwargs
    return str(kept.get(REASONING) or "") if kept.get(GOES_BACK) else ""


def without_thought(message: AIMessage) -> AIMessage:
    """The reply without what is thought in its text, which is kept beside it."""
    if not isinstance(message.content, str) or "</th" not in message.content:
        return message
    thought, said = thought_apart(message.content)
    if thought.strip():
        message.content = said
        message.additional_kwargs.setdefault(REASONING, thought.strip())
    return message
