"""What Tab completes in a conversation: its commands, and files after an @."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document


class Typed(Completer):
    """Completes `/name` at the beginning and `@path` anywhere."""

    def __init__(self, commands: Mapping[str, str], folder: str) -> None:
        self._commands = commands
        self._paths = PathCompleter(get_paths=lambda: [folder], expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        """What may be meant by what stands before the cursor."""
        text = document.text_before_cursor
        word = text.split()[-1] if text and not text[-1].isspace() else ""
        if text.startswith("/") and word == text:
            for name, help_text in self._commands.items():
                if name.startswith(text[1:]):
                    yield Completion(name, 1 - len(text), display_meta=help_text)
        elif word.startswith("@"):
            yield from self._paths.get_completions(Document(word[1:]), event)
