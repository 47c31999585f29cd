import io
import os

import pytest

from manus.screen import Screen


def test_a_log_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    stream = io.StringIO()
    Screen(stream).line("x" * 200, "bold red")
    assert stream.getvalue() == "x" * 200 + "\n"
    monkeypatch.setenv("COLUMNS", "80")
    Screen(stream).line("y" * 200)
    assert stream.getvalue().endswith("\n" + "y" * 79 + "…\n")


def test_a_line_is_one_line_without_control_codes() -> None:
    stream = io.StringIO()
    Screen(stream).line("one\ntwo \x1b[31mred\x1b[0m [bold]x[/bold]", "bold")
    assert stream.getvalue() == "one two red [bold]x[/bold]\n"


def test_quiet_says_only_what_must_be_said() -> None:
    stream = io.StringIO()
    screen = Screen(stream, quiet=True)
    screen.line("a")
    screen.paragraph("b")
    screen.paragraph("d", always=True)
    assert stream.getvalue() == "d\n"


def test_a_reader_that_goes_away_silences_the_screen() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", buffering=1) as stream:
        screen = Screen(stream)
        os.close(reading)
        screen.line("to nobody")
        screen.line("and again")
