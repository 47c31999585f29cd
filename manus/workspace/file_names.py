"""Find files by names that look the same but have other characters, such as U+202F for a space."""

from __future__ import annotations

import contextlib
import unicodedata
from pathlib import Path

from manus.workspace.safe_open import list_names

_TYPOGRAPHY = str.maketrans(
    "\u2018\u2019\u201c\u201d\u2010\u2013\u2014\u2212",
    "''\"\"----",
    "\u200b\u200e\u200f\u202a\u202c\ufeff",
)


def fold(text: str) -> str:
    """Return a text that is equal for all texts which look the same, by NFKC and typography."""
    return unicodedata.normalize("NFKC", text).translate(_TYPOGRAPHY)


def find_look_alikes(root: Path, path: Path) -> list[Path]:
    """Return the existing paths that look like a path below `root`. Blocking."""
    matches = [root]
    for part in path.relative_to(root).parts:
        matches = [folder / name for folder in matches for name in _match_names(folder, part)]
    return matches


def _match_names(folder: Path, part: str) -> list[str]:
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = list_names(folder)
    return [part] if part in names else [name for name in names if fold(name) == fold(part)]
