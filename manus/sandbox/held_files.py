"""The files that a look has taken out of a workspace, in its private records. Blocking."""

from __future__ import annotations

from pathlib import Path

from manus.state.errors import UsageError
from manus.workspace.safe_open import remove, write_file, write_private

HELD = "held"
_ASKED = "held-asked"
LINK = b"link to "
"""Prefix of the target of a link, which is kept instead of the link."""


def list_held(records: Path) -> dict[str, Path]:
    """Return the newest kept copy of each file, by its path in the workspace."""
    files = {}
    for stamp in sorted((records / HELD).glob("*")):
        for path in sorted(stamp.rglob("*")):
            if path.is_file():
                files[path.relative_to(stamp).as_posix()] = path
    return files


def list_unasked(records: Path) -> dict[str, Path]:
    """Return the newest kept copies about which no person has been asked."""
    asked = _read_asked(records)
    files = list_held(records) if (records / HELD).exists() else {}
    return {name: copy for name, copy in files.items() if str(copy) not in asked}


def note_asked(records: Path) -> None:
    """Record that a person has been asked about the files that are held now."""
    copies = "\n".join(map(str, list_held(records).values()))
    write_private(records / _ASKED, copies.encode("utf-8", "surrogateescape"))


def _read_asked(records: Path) -> list[str]:
    try:
        return (records / _ASKED).read_bytes().decode("utf-8", "surrogateescape").split("\n")
    except OSError:
        return []


def bring_back(root: Path, name: str, copy: Path) -> None:
    """Write a kept file to the workspace again, and remove the copy.

    Raises:
        UsageError: it was a link, or it cannot be written.
    """
    content = copy.read_bytes()
    if content.startswith(LINK):
        raise UsageError(f"{name} was a {content.decode(errors='replace')}; create it yourself.")
    try:
        write_file(root / name, content)
    except OSError as error:
        raise UsageError(f"Cannot write {name}: {error.strerror}.") from None
    remove(copy)
