"""The code in a folder that its `manus.toml` names: modules of tools and profiles, MCP servers.

Trust in a folder covers this code; a change of it ends the trust.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MODULE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_]\w*")
"""`mytool:hello`, as `profile` and `tools` name code."""
_MOST_FILES = 500
_MOST_BYTES = 5_000_000
"""Of one file; no code is longer."""


def named_code(folder: Path) -> list[Path]:
    """Return the files of code that the settings of a folder name, and what these import. Blocking.

    Only files in the folder are returned: what is installed elsewhere is not the folder's.
    """
    root = folder.resolve()
    try:
        settings = tomllib.loads((root / "manus.toml").read_text("utf-8"))
    except (OSError, ValueError):  # none, or a broken one, which names nothing
        return []
    found: dict[Path, None] = {}
    waiting = list(_named_files(root, settings))
    while waiting and len(found) < _MOST_FILES:
        path = waiting.pop()
        if path in found or not _is_code(root, path):
            continue
        found[path] = None
        if path.suffix == ".py":
            waiting += _imported_files(root, path)
    return sorted(found)


def _is_code(root: Path, path: Path) -> bool:
    try:
        is_inside = path.resolve().is_relative_to(root)
        return is_inside and path.is_file() and path.stat().st_size <= _MOST_BYTES
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def _named_files(root: Path, value: Any, before: Any = None) -> Iterator[Path]:
    """Yield the files that a value of the settings may name, whether they are there or not."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _named_files(root, inner)
    elif isinstance(value, list):
        for inner, preceding in zip(value, [None, *value], strict=False):
            yield from _named_files(root, inner, preceding)
    elif isinstance(value, str):
        module = _MODULE.fullmatch(value)
        if module:
            yield from _files_of_module(root, module[1])
        elif before == "-m":
            yield from _files_of_module(root, value)
            yield root.joinpath(*value.split("."), "__main__.py")
        else:
            yield root / value


def _files_of_module(root: Path, name: str) -> Iterator[Path]:
    """Yield where a module may be, and the packages around it."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:depth])
        yield place / "__init__.py"
        yield place.with_suffix(".py")


def _imported_files(root: Path, path: Path) -> Iterator[Path]:
    """Yield where the modules may be that a Python file imports."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files_of_module(root, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = path.parents[node.level - 1] if 0 < node.level <= len(path.parents) else root
            module = f"{node.module}." if node.module else ""
            for alias in node.names:  # a name may be a module of the package
                yield from _files_of_module(base, f"{module}{alias.name}".removesuffix(".*"))
