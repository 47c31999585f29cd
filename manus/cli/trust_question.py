"""Ask at the terminal whether the user trusts a folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from manus.cli.notes import print_note


def can_ask() -> bool:
    """Return whether a person sees a question and can type the answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_to_trust(folder: Path, effects: Sequence[str] = ()) -> None:
    """Ask whether the user trusts a folder, and store the answer. Blocking.

    `effects` are sentences on what its files would change.
    """
    from manus.cli.choices import ask_yes
    from manus.runs.configuration import CONSEQUENCE, QUESTION, decide

    print_note(f"{QUESTION} {folder}\n{' '.join([*effects, CONSEQUENCE])}")
    decide(folder, trusted=ask_yes())
