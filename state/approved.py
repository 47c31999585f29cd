"""What a person has approved for all runs in a folder, kept outside of it. All is blocking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from manus.state.files import read_record, write_record

_RECORD = "approved"


def known_rules(folder: Path) -> list[str]:
    """The rules of a folder."""
    found = read_record(_RECORD).get(str(folder.resolve()))
    return [str(rule) for rule in found] if isinstance(found, list) else []


def keep_rules(folder: Path, rules: Sequence[str]) -> None:
    """Add rules to those of a folder.

    Raises:
        OSError: they cannot be kept.
    """
    known = list(dict.fromkeys([*known_rules(folder), *rules]))
    write_record(_RECORD, {**read_record(_RECORD), str(folder.resolve()): known})
