"""Find the code in a folder that its `manus.toml` names: modules of tools, profiles, MCP servers.

Trust in a folder covers this code, and ends when it changes.
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
_MAX_FILES = 500
_MAX_BYTES = 5_000_000
"""Maximum size of one file; no code is larger."""


def code_files(folder: Path) -> list[Path]:
    """Return the code files that the settings of a folder name, and their imports. Blocking.

    Only files in the folder are returned, not installed packages.
    """
    root = folder.resolve()
    try:
        settings = tomllib.loads((root / "manus.toml").read_text("utf-8"))
    except (OSError, ValueError):  # missing or invalid
        return []
    files: set[Path] = set()
    candidates = list(_named_files(root, settings))
    while candidates and len(files) < _MAX_FILES:
        path = candidates.pop()
        if path in files or not _is_code(root, path):
            continue
        files.add(path)
        if path.suffix == ".py":
            candidates += _imported_files(root, path)
    return sorted(files)


def _is_code(root: Path, path: Path) -> bool:
    try:
        is_inside = path.resolve().is_relative_to(root)
        return is_inside and path.is_file() and path.stat().st_size <= _MAX_BYTES
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def _named_files(root: Path, value: Any, before: Any = None) -> Iterator[Path]:
    """Yield the files that a value of the settings may name, whether they exist or not."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _named_files(root, inner)
    elif isinstance(value, list):
        for inner, preceding in zip(value, [None, *value], strict=False):
            yield from _named_files(root, inner, preceding)
    elif isinstance(value, str):
        module = _MODULE.fullmatch(value)
        if module:
            yield from _find_module_files(root, module[1])
        elif before == "-m":
            yield from _find_module_files(root, value)
            yield root.joinpath(*value.split("."), "__main__.py")
        else:
            yield root / value
            yield from (root / word for word in value.split()[1:])  # a command with its arguments


def _find_module_files(root: Path, name: str) -> Iterator[Path]:
    """Yield the possible files of a module and of the packages around it."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        path = root.joinpath(*parts[:depth])
        yield path / "__init__.py"
        yield path.with_suffix(".py")


def _imported_files(root: Path, path: Path) -> Iterator[Path]:
    """Yield the possible files of the modules that a Python file imports."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _find_module_files(root, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = root
            if 0 < node.level <= len(path.parents):
                base = path.parents[node.level - 1]
            module = f"{node.module}." if node.module else ""
            for alias in node.names:  # a name may be a module of the package
                yield from _find_module_files(base, f"{module}{alias.name}".removesuffix(".*"))
