"""A text is cut where a reader sees a boundary."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manus.tools.cut import cut_observation
from manus.tools.graphemes import beginning, boundary_after, boundary_before, ending
from manus.tools.workspace import Workspace

SIGNS = [
    "👨‍👩‍👧‍👦",
    "👍🏽",
    "🇩🇪",
    "e\u0301",
    "नि",
    "❤️",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "\u1112\u1161\u11ab",
    "\r\n",
    "か\u3099",
]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("limit", range(997, 1_017))
def test_a_cut_leaves_each_sign_whole(tmp_path: Path, sign: str, limit: int) -> None:
    said = cut_observation(sign * 3_000, limit, Workspace(tmp_path))
    head, tail = said.split("[… ")[0], said.split("…]")[-1]
    assert len(said) <= limit
    assert not head.rstrip("\r\n").replace(sign, "")
    assert not tail.lstrip("\r\n").replace(sign, "")


@pytest.mark.parametrize("sign", SIGNS)
def test_ends_of_any_length_are_of_whole_signs(sign: str) -> None:
    text = f"a{sign}{sign}b"
    whole = {0, 1, 1 + len(sign), 1 + 2 * len(sign), len(text)}
    for place in range(len(text) + 1):
        before, behind = boundary_before(text, place), boundary_after(text, place)
        assert before == max(w for w in whole if w <= place)
        assert behind == min(w for w in whole if w >= place)


def test_what_goes_on_for_ever_is_cut_all_the_same() -> None:
    assert len(beginning("a" + "\u0301" * 1_000, 500)) == 500
    assert len(ending("a" + "\u0301" * 1_000, 500)) == 500
    assert len(beginning("🇩" * 1_000, 501)) == 500


@given(st.text(), st.integers(-2, 40))
def test_ends_are_ends_and_not_too_long(text: str, most: int) -> None:
    assert text.startswith(beginning(text, most))
    assert text.endswith(ending(text, most))
    assert len(beginning(text, most)) <= max(most, 0)
    assert len(ending(text, most)) <= max(most, 0)
