"""Text that comes in pieces is broken between words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from manus.wrap import WordWrap
from manus.wrap import wrapped as text_wrapped


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


@pytest.mark.parametrize("sign", ["👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "e\u0301", "か\u3099"])
def test_signs_of_several_characters_are_not_torn(sign: str) -> None:
    for width in range(10, 20):
        shown = wrapped(*("x" * 3 + sign * 40), width=width)
        assert not "".join(shown.split()).replace(sign, "").replace("x", "")
        assert all(not line.strip().replace(sign, "").strip("x") for line in shown.split("\n"))
        assert len(shown.split("\n")) > 2


KEPT = [
    "    code = that_is_longer(than, the, line)",
    "\tindented by a tab and longer than that",
    "| a row | of a table | longer than that |",
    "https://example.org/a/rather/long/path/to/it",
    "```sh\nmake something --with many --options\n```",
    "~~~\na fence of another kind, with ``` in it\n```\nand still inside of it, so it stays\n~~~",
    "short  enough\tto stay",
    "",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_is_to_be_copied_stays(text: str) -> None:
    assert text_wrapped(text, 24) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("prose that goes over the edge", "prose that goes over\nthe edge"),
        ("- an item that goes over it\n- b", "- an item that goes\n  over it\n- b"),
        ("  12. an item that goes over", "  12. an item that\n      goes over"),
        ("see https://example.org/a/long/path now", "see\nhttps://example.org/a/long/path\nnow"),
        ("漢字仮名交じり文です。", "漢字仮名交じり文です\n。"),
        (
            "```\na\n```\nprose after the fence is broken",
            "```\na\n```\nprose after the fence\nis broken",
        ),
        ("ends with spaces         \nb", "ends with spaces\nb"),
    ],
)
def test_prose_is_broken_between_words(text: str, shown: str) -> None:
    assert text_wrapped(text, 21) == shown


@given(st.text("ab -|`\n漢é", max_size=60), st.integers(20, 40))
def test_wrapping_loses_nothing(text: str, width: int) -> None:
    assert "".join(text_wrapped(text, width).split()) == "".join(text.split())
