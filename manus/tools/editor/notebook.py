"""Show a notebook (`.ipynb`) as its cells, and edit the source of a cell as it is shown."""

from __future__ import annotations

import json
import re
from typing import Any

from manus.sandbox.terminal import render
from manus.state.errors import ToolError
from manus.state.text import shorten

_MAX_OUTPUT = 2_000
"""Maximum number of characters of an output."""


def parse_cells(text: str) -> tuple[dict[str, Any], list[str]]:
    """Return a notebook, and the sources of its cells.

    Raises:
        ValueError: the text is no JSON, or not that of a notebook.
    """
    notebook = json.loads(text)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not isinstance(notebook.get("nbformat"), int):
        raise ValueError("it has no list of `cells`, or no `nbformat`")
    for number, cell in enumerate(cells, 1):
        source = cell.get("source") if isinstance(cell, dict) else None
        has_outputs = isinstance(cell, dict) and isinstance(cell.get("outputs", []), list)
        if not isinstance(source, str | list) or "cell_type" not in cell or not has_outputs:
            raise ValueError(f"cell {number} has no `cell_type`, `source` or list of `outputs`")
    return notebook, [_join(cell["source"]) for cell in cells]


def render_cells(text: str) -> str:
    """Return the sources and the text outputs of the cells; raise like `parse_cells`."""
    notebook, sources = parse_cells(text)
    parts = []
    for number, (cell, source) in enumerate(zip(notebook["cells"], sources, strict=True), 1):
        parts += [f"── cell {number}: {cell['cell_type']} ──", source]
        for output in cell.get("outputs") or ():
            parts += [f"── output of cell {number} ──", _render_output(output)]
    return "\n".join(part.removesuffix("\n") for part in parts) + "\n"


def _render_output(output: Any) -> str:
    if "traceback" in output:
        return shorten(render("\n".join(output["traceback"])), _MAX_OUTPUT)
    data = output.get("data") or {"text/plain": output.get("text", "")}
    others = [f"[{kind}]" for kind in data if not kind.startswith("text/")]
    plain = data.get("text/plain") or data.get("text/markdown") or ""
    return "\n".join([*others, shorten(render(_join(plain)), _MAX_OUTPUT)])


def _join(source: Any) -> str:
    return "".join(source)


def replace_source(text: str, old: str, new: str) -> str | None:
    """Replace a text that occurs once in the sources of all cells; return None if in none of them.

    Raises:
        ToolError: it occurs several times.
    """
    notebook, sources = parse_cells(text)
    matches = [number for number, source in enumerate(sources) for _ in range(source.count(old))]
    if not matches:
        return None
    if len(matches) > 1:
        cells = ", ".join(str(number + 1) for number in dict.fromkeys(matches))
        raise ToolError(
            f"`old_str` is not unique: it occurs {len(matches)} times, in the cells {cells}. "
            "Include more surrounding lines so that it matches only one place."
        )
    cell = notebook["cells"][matches[0]]
    source = sources[matches[0]].replace(old, new)
    is_list = isinstance(cell["source"], list)
    cell["source"] = source.splitlines(keepends=True) if is_list else source
    indent = re.search(r"\n( +)", text)
    end = "\n" if text.endswith("\n") else ""
    return json.dumps(notebook, indent=len(indent[1]) if indent else None, ensure_ascii=False) + end


def check_notebook(text: str) -> None:
    """Raise a `ToolError` if a text is not that of a notebook."""
    try:
        parse_cells(text)
    except ValueError as error:
        raise ToolError(
            f"The result would not be a notebook ({error}). Nothing was changed. Give `old_str` "
            "and `new_str` as `view` shows the source of a cell, or edit the notebook with a "
            "program."
        ) from None
