"""Whether a name that looks like a host is that of a file, or of an attribute in a source file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from manus.execution.safe_open import open_file

_MOST_FILES = 5_000
"""Files looked at; in a larger workspace those behind them are not."""
_MOST_BYTES = 200_000
"""Of one source file; a longer one is mostly generated."""
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages"})
_SOURCE_ENDINGS = (
    ".py .pyi .ipynb .js .jsx .mjs .ts .tsx .vue .go .rs .java .kt .scala .cs .rb .php .swift .c "
    ".cc .cpp .h .hpp .lua .r .jl .sh .tf .toml .yaml .yml .cfg .ini"
)
_RECEIVERS = (
    "self this cls super app df np pd plt req res ctx obj log logger user window document console "
    "process module"
)
"""Variables that source code in many languages has."""


def is_workspace_name(root: Path, name: str) -> bool:
    """Return whether a file has that name, or a source file such an attribute. Blocking."""
    if name.partition(".")[0] in _RECEIVERS.split():
        return True
    # in quotes, or as part of an address, it is a host there, too
    attribute = re.compile(rf"(?<![\w./:@\"'`-]){re.escape(name)}(?![\w\"'/:-])", re.IGNORECASE)
    for path in islice(_files(root), _MOST_FILES):
        if path.name.lower() == name:
            return True
        if path.suffix.lower() in _SOURCE_ENDINGS.split() and attribute.search(_text(path)):
            return True
    return False


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name[0] != "." and name not in _LEFT_OUT]
        yield from (Path(folder, name) for name in files)


def _text(path: Path) -> str:
    try:
        with open_file(path) as file:  # a link is left out
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
