"""Text that comes in pieces is broken between words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from manus.wrap import WordWrap


def wrapped(*pieces: str, width: int = 20) -> str:
    wrap = WordWrap(width)
    return "".join(wrap.feed(piece) for piece in pieces) + wrap.end()


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["one two"], "  one two"),
        (["a word that goes over the edge"], "  a word that goes\n  over the edge"),
        (["in ", "pie", "ces of wor", "ds that go on"], "  in pieces of words\n  that go on"),
        (["lines\n\nof text"], "  lines\n\n  of text"),
        (["a" * 40], "  " + "a" * 18 + "\n  " + "a" * 18 + "\n  " + "a" * 4),
        (["漢字仮名交じり文です"], "  漢字仮名交じり文で\n  す"),
        ([""], ""),
    ],
)
def test_breaks_between_words(pieces: list[str], shown: str) -> None:
    assert wrapped(*pieces) == shown


@given(st.lists(st.text("ab \n漢é", max_size=30), max_size=8))
def test_how_it_comes_makes_no_difference(pieces: list[str]) -> None:
    shown = wrapped(*pieces)
    assert shown == wrapped("".join(pieces))
    assert "".join(shown.split()) == "".join("".join(pieces).split())
    assert all(cell_len(line) <= 20 for line in shown.split("\n"))
