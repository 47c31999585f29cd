"""The scripts that run in pages, read from the files beside this one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).with_name("js")
_NEEDS_STORE = frozenset({"walk", "element", "quiet"})


@cache
def script(name: str) -> str:
    """The text of a script: a function, or what is to run in every document."""
    text = _read(name)
    if name not in _NEEDS_STORE:
        return text
    return f"(argument) => {{\n{_read('store')}\nreturn (\n{text}\n)(argument);\n}}"


def load_scripts() -> None:
    """Read all of them, so that `script` need not touch the disk later. Blocking."""
    for path in _FOLDER.glob("*.js"):
        script(path.stem)


def _read(name: str) -> str:
    text = (_FOLDER / f"{name}.js").read_text("utf-8")
    # Comments first in a file would make an expression out of nothing for some callers.
    lines = text.splitlines()
    while lines and lines[0].startswith("//"):
        lines.pop(0)
    return "\n".join(lines)
