"""What became of each setting, told to a person or to a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manus.openmanus.translate import Translation


def as_text(
    done: Translation, files: Sequence[Path], output: Path, columns: int | None = None
) -> str:
    """Every setting on a line: what it is called now, or why it was left out.

    With a width, longer lines go on below, indented.
    """
    lines = [
        f"{' and '.join(map(str, files))} → {output}",
        "Nobody but you can read it (mode 600)"
        + (", for there are keys in it." if _secret(done) else "."),
        "",
        "Taken over:",
    ]
    for taken in done.taken:
        value = f" = {taken.shown}" if taken.shown else ""
        remark = f"  ({taken.remark})" if taken.remark else ""
        lines.append(f"  {taken.theirs} → {taken.ours}{value}{remark}")
    if done.left:
        lines += ["", "Not taken over:"]
        lines += [f"  {left.theirs}: {left.why}" for left in done.left]
    return "\n".join(_wrapped(line, columns) for line in (*lines, "", *_what_next(done)))


def as_json(done: Translation, files: Sequence[Path], output: Path) -> dict[str, Any]:
    """The same as data."""
    return {
        "files": [str(file) for file in files],
        "output": str(output),
        "taken": [
            {"from": t.theirs, "to": t.ours, "value": t.shown, "remark": t.remark}
            for t in done.taken
        ],
        "left": [{"from": left.theirs, "why": left.why} for left in done.left],
    }


def _wrapped(line: str, columns: int | None) -> str:
    from manus.text import clean, fit
    from manus.wrap import WordWrap

    text = clean(line)
    if columns is None or fit(text, columns) == text:
        return text
    wrap = WordWrap(columns, indent="      ")
    return (wrap.feed(text.strip()) + wrap.end())[4 if text[:1] == " " else 6 :]


def _secret(done: Translation) -> bool:
    return any(taken.holds_secrets for taken in done.taken)


def _what_next(done: Translation) -> list[str]:
    from manus.preflight import is_installed

    lines = []
    names = {taken.place for taken in done.taken}
    if not any(taken.is_secret for taken in done.taken) and ("model",) in names:
        lines.append("No key was found: set MANUS_API_KEY, if the server wants one.")
    if any(place[0] == "mcp" for place in names) and not is_installed("mcp"):
        lines.append("The MCP servers need a package: make setup EXTRAS=mcp")
    return [*lines, "Next: manus doctor"]
