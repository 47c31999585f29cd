"""A unified diff as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from manus.run_report.markup import Html, tag

_KINDS = {"+": "a", "-": "d", "@": "h"}


def diff_view(lines: Sequence[str]) -> Html:
    """The lines, each by what it does; without the two that name the file."""
    shown = [line for line in lines if not line.startswith(("--- ", "+++ "))]
    if not shown:
        return tag("p", "Nothing was changed, or it is not known what.", class_="label")
    return tag("pre", *map(_line, shown), class_="diff", dir="ltr")


def _line(line: str) -> Html:
    if line == "@@ @@":
        return tag("span", "somewhere in the file\n", class_="h")
    kind = _KINDS.get(line[:1])
    return tag("span", f"{line}\n", class_=kind)
