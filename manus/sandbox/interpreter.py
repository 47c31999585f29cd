"""The Python that runs manus, by a path that is the same inside and outside a sandbox."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def get_own_python() -> str:
    """Return the path of the running interpreter. Blocking."""
    return str(remove_parent_steps(sys.executable))


def get_own_prefixes() -> list[Path]:
    """Return the folders with the running interpreter's files and its environment's. Blocking."""
    return list(dict.fromkeys(map(remove_parent_steps, (sys.base_prefix, sys.prefix))))


def remove_parent_steps(path: str) -> Path:
    """Return an absolute path to the same file, without `..`. Blocking.

    A sandbox lacks the folders that a `..` passes through. Links are kept, since the Python of a
    virtual environment is a link and finds its environment by its own path. Only a folder reached
    through `LINK/..` is resolved, since the path does not show its name.
    """
    plain = Path(os.path.normpath(Path(path).absolute()))
    try:
        if plain.samefile(path):
            return plain
    except OSError:
        pass  # `plain` or the file itself does not exist
    return Path(os.path.realpath(Path(path).parent), Path(path).name)
