"""The numbers of the elements: one for each, the same as long as its document lives.

A document counts its own elements; here these counts become one numbering over all frames of a
page, from 1, in the order in which they were first seen, so that a page that is opened again gets
the same numbers again.
"""

from __future__ import annotations

from dataclasses import dataclass

from playwright.async_api import Frame


@dataclass(frozen=True, slots=True)
class Reference:
    """An element: its frame, the document it belongs to, and its count there."""

    frame: Frame
    token: str
    id: int


class Numbering:
    """The numbers of one document in a tab's main frame."""

    def __init__(self, token: str = "") -> None:
        self.token = token
        """The document; of another one nothing here is true."""
        self._numbers: dict[Reference, int] = {}
        self._references: dict[int, Reference] = {}

    def number(self, reference: Reference) -> int:
        """The number of an element, a new one if it has none yet."""
        if reference not in self._numbers:
            number = len(self._numbers) + 1
            self._numbers[reference] = number
            self._references[number] = reference
        return self._numbers[reference]

    def find(self, number: int) -> Reference | None:
        """The element of a number, or None if none has had it."""
        return self._references.get(number)
