"""Tab completion in a conversation: commands, and file paths after an @."""

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


class ChatCompleter(Completer):
    """Completes `/name` at the beginning and `@path` anywhere."""

    def __init__(self, commands: Mapping[str, str], folder: str) -> None:
        help_by_command = {f"/{name}": help_text for name, help_text in commands.items()}
        self._commands = WordCompleter([*help_by_command], meta_dict=help_by_command, sentence=True)
        self._paths = PathCompleter(get_paths=lambda: [folder], expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        """Yield completions for the word before the cursor."""
        word = document.get_word_before_cursor(WORD=True)
        if word.startswith("@"):
            yield from self._paths.get_completions(Document(word[1:]), event)
        elif word.startswith("/"):
            yield from self._commands.get_completions(document, event)
