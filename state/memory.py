"""What a user has asked to be kept across threads: a small Markdown file of their own."""

from __future__ import annotations

from pathlib import Path

from manus.state.files import make_private_folder, write_atomically


def memory_file() -> Path:
    """The file, whether it is there or not."""
    from platformdirs import user_data_path

    return user_data_path("manus", appauthor=False) / "memory.md"


def read_memory() -> str:
    """Its text; empty if there is none. Blocking."""
    try:
        return memory_file().read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def add_to_memory(fact: str) -> bool:
    """Add a line; whether it was new. Blocking.

    Raises:
        OSError: it cannot be written.
    """
    known, line = read_memory(), f"- {' '.join(fact.split())}"
    if line in known.splitlines():
        return False
    file = memory_file()
    make_private_folder(file.parent)
    write_atomically(file, f"{known}\n{line}\n".lstrip().encode("utf-8", "replace"), 0o600)
    return True
