"""The newest state of the page, between the one that reads the store and those who ask for it."""

from __future__ import annotations

import threading

from manus.run_report.facts import ThreadFacts
from manus.run_report.page import content, page


class Board:
    """Holds what was gathered last; made into HTML when somebody asks, once for all who do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: ThreadFacts | None = None
        self._version = 0
        self._made: dict[str, str] = {}

    def put(self, facts: ThreadFacts) -> None:
        """Replace what is shown."""
        with self._lock:
            self._facts, self._made = facts, {}
            self._version += 1

    def whole(self) -> str:
        """The whole page; empty before anything was put."""
        with self._lock:
            if "page" not in self._made and self._facts is not None:
                self._made["page"] = page(self._facts)
            return self._made.get("page", "")

    def news(self, known: str) -> tuple[str, str] | None:
        """The version and what changes on the page; None for one who knows it already."""
        with self._lock:
            version = str(self._version)
            if known == version or self._facts is None:
                return None
            if "content" not in self._made:
                self._made["content"] = content(self._facts)
            return version, self._made["content"]
