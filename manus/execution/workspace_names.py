"""Distinguish host names from names of files and of attributes in source files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from manus.execution.safe_open import open_file

_MAX_FILES = 5_000
"""Maximum number of files that are searched."""
_MAX_BYTES = 200_000
"""Maximum size of a source file in bytes; larger ones are mostly generated."""
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})
_SOURCE_ENDINGS = (
    ".py .pyi .ipynb .js .jsx .mjs .ts .tsx .vue .go .rs .java .kt .scala .cs .rb .php .swift .c "
    ".cc .cpp .h .hpp .lua .r .jl .sh .tf .toml .yaml .yml .cfg .ini"
)
_RECEIVERS = (
    "self this cls super app df np pd plt req res ctx obj log logger user window document console "
    "process module"
)
"""Common variables in source code of many languages."""


def is_workspace_name(root: Path, name: str) -> bool:
    """Return whether a file has this name, or a source file uses it as an attribute. Blocking."""
    if name.partition(".")[0] in _RECEIVERS.split():
        return True
    # in quotes or in an address, it is a host in source files too
    attribute = re.compile(rf"(?<![\w./:@\"'`-]){re.escape(name)}(?![\w\"'/:-])", re.IGNORECASE)
    for path in islice(_files(root), _MAX_FILES):
        if path.name.lower() == name:
            return True
        if path.suffix.lower() in _SOURCE_ENDINGS.split() and attribute.search(_text(path)):
            return True
    return False


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name[0] != "." and name not in _SKIPPED]
        yield from (Path(folder, name) for name in files)


def _text(path: Path) -> str:
    try:
        with open_file(path) as file:  # skips links
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
