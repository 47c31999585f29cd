"""What happens in the browser while nobody looks: dialogs, downloads, new tabs, errors."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

Kind = Literal["dialog", "download", "tab", "navigation", "console", "trouble"]

_KEEP = 500


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened, in words for the model."""

    number: int
    kind: Kind
    text: str


class Log:
    """The happenings of one browser, the last few hundred."""

    def __init__(self) -> None:
        self._happenings: deque[Happening] = deque(maxlen=_KEEP)
        self.count = 0
        """A mark for `since`."""

    def add(self, kind: Kind, text: str) -> None:
        """Note something."""
        self.count += 1
        self._happenings.append(Happening(self.count, kind, text))

    def since(self, mark: int) -> list[Happening]:
        """What has happened after a mark."""
        return [happening for happening in self._happenings if happening.number > mark]
