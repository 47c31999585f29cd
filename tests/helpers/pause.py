"""Model replies that are sent when a test releases them."""

import threading
from collections.abc import Callable
from typing import Any

from tests.server import Request


class Pause:
    """Holds replies back, in order."""

    def __init__(self) -> None:
        self._events: list[threading.Event] = []

    def before(self, reply: Any) -> Callable[[Request], Any]:
        """Return a reply that waits for `end`."""
        event = threading.Event()
        self._events.append(event)

        def answer(_: Request) -> Any:
            assert event.wait(60)
            return reply

        return answer

    def end(self) -> None:
        """Release the next reply."""
        self._events.pop(0).set()
