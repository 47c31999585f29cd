import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manus.formatting import clean, count, first_line, fit, flat, main_argument

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.mark.parametrize(
    ("given_text", "wanted"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jcleared", "cleared"),
        ("\x1bPdevice\x1b\\x", "x"),
        ("a\x1b(Bb", "ab"),
        ("bell\x07 back\x08 null\x00", "bell back null"),
        ("10 %\r20 %\r\n", "10 %\n20 %\n"),
        ("\u202egnp.exe", "gnp.exe"),
        ("half \ud83d", "half \ufffd"),
        ("[bold]no markup[/bold]", "[bold]no markup[/bold]"),
    ],
)
def test_clean(given_text: str, wanted: str) -> None:
    assert clean(given_text) == wanted


_nasty = st.text(st.sampled_from("ab1;[]mJ\\P(\x1b\x07\x9b\x9c\r\n\x00\u202e\ud83d"), max_size=30)


@given(_nasty)
def test_nothing_that_is_cleaned_holds_a_control_character(text: str) -> None:
    assert not _CONTROL.search(clean(text))


@pytest.mark.parametrize(
    ("line", "width", "wanted"),
    [
        ("short", 10, "short"),
        ("exactly 10", 10, "exactly 10"),
        ("longer than ten", 10, "longer th…"),
        ("宽字符宽字符宽字符", 10, "宽字符宽…"),
    ],
)
def test_fit(line: str, width: int, wanted: str) -> None:
    assert fit(line, width) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("one", "one"),
        ("\n\n  one\n\ntwo\n", "one (+1 line)"),
        ("one\ntwo\nthree", "one (+2 lines)"),
        ("", "(nothing)"),
        (" \n ", "(nothing)"),
    ],
)
def test_first_line(text: str, wanted: str) -> None:
    assert first_line(text) == wanted


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        ({"command": "ls -l"}, "ls -l"),
        ({"command": "create", "path": "a.py", "file_text": "x = 1\ny = 2\n"}, "create a.py"),
        ({"code": "print(1)\nprint(2)"}, "print(1) print(2)"),
        ({"path": "a", "view_range": [1, 2]}, "a [1, 2]"),
        ({}, ""),
        ('{"broken', '{"broken'),
    ],
)
def test_main_argument(args: object, wanted: str) -> None:
    assert main_argument(args) == wanted


def test_flat_and_count() -> None:
    assert flat(" a \n\x1b[1m b\t") == "a b"
    assert (count(1, "step"), count(1204, "token")) == ("1 step", "1,204 tokens")
