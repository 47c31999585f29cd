"""Print notes to the user on stderr."""

from __future__ import annotations


def print_note(text: str) -> None:
    """Print lines on stderr, each wrapped between words on a terminal."""
    from manus.cli.screen import Screen

    screen = Screen()
    for line in text.splitlines():
        screen.paragraph(line, always=True)
