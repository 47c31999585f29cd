"""What Tab completes in a conversation: its commands, and files after an @."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    PathCompleter,
    WordCompleter,
)
from prompt_toolkit.document import Document


class Typed(Completer):
    """Completes `/name` at the beginning and `@path` anywhere."""

    def __init__(self, commands: Mapping[str, str], folder: str) -> None:
        known = {f"/{name}": help_text for name, help_text in commands.items()}
        self._commands = WordCompleter([*known], meta_dict=known, sentence=True)
        self._paths = PathCompleter(get_paths=lambda: [folder], expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        """What may be meant by what stands before the cursor."""
        word = document.get_word_before_cursor(WORD=True)
        if word.startswith("@"):
            yield from self._paths.get_completions(Document(word[1:]), event)
        elif word.startswith("/"):
            yield from self._commands.get_completions(document, event)
