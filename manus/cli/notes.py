"""Print notes to the user on stderr."""

from __future__ import annotations


def print_note(text: str) -> None:
    """Print lines on stderr; on a terminal they are wrapped between words."""
    from manus.cli.screen import Screen

    Screen().paragraph(text, always=True)
