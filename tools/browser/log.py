"""What happens in the browser while nobody looks: dialogs, downloads, errors."""

from __future__ import annotations

from collections import deque
from typing import Literal

Kind = Literal["dialog", "download", "console", "event"]


class Log:
    """The last few hundred happenings of one browser, in words for the model."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, Kind, str]] = deque(maxlen=500)
        self.count = 0
        """A mark for `since`."""

    def add(self, kind: Kind, text: str) -> None:
        """Note something."""
        self.count += 1
        self._kept.append((self.count, kind, text))

    def since(self, mark: int) -> list[tuple[Kind, str]]:
        """What has happened after a mark."""
        return [(kind, text) for number, kind, text in self._kept if number > mark]
