"""Run the notebooks and store their outputs in them: python -m scripts.run_notebooks [NAME ...].

Paths, times and ids, which vary between runs, are removed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
_VARIES = [
    (re.compile(re.escape(str(ROOT))), "…"),
    (re.compile(r"/tmp/[\w.-]+"), "/tmp/…"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.+]+"), "…"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s)\b"), "… s"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "…"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "…"),
    (re.compile(r"(?<='id': ')[0-9a-f]{12}(?=')"), "…"),
    (re.compile(r"(?<='seconds': )[\d.e-]+"), "…"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:…"),
]


def remove_varying_parts(part: Any) -> Any:
    """Return an output, or a part of one, without the parts that vary between runs."""
    if isinstance(part, dict):
        picture = {name: value for name, value in part.items() if name.startswith("image/")}
        return {name: remove_varying_parts(value) for name, value in part.items()} | picture
    if isinstance(part, list):
        return [remove_varying_parts(item) for item in part]
    if isinstance(part, str):
        for pattern, instead in _VARIES:
            part = pattern.sub(instead, part)
    return part


def run(path: Path) -> None:
    """Run one notebook in its folder, and write it with its outputs."""
    notebook = nbformat.reads(path.read_text("utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    where = {"metadata": {"path": str(path.parent)}}
    NotebookClient(
        notebook, coalesce_streams=True, timeout=200, resources=where, record_timing=False
    ).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            outputs = [remove_varying_parts(output) for output in cell.outputs]
            cell.outputs = [nbformat.from_dict(output) for output in outputs]  # type: ignore[no-untyped-call]
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
    notebook.metadata.pop("language_info", None)
    path.write_text(nbformat.writes(notebook) + "\n", "utf-8")  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    names = sys.argv[1:] or [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    for name in names:
        run(ROOT / "notebooks" / f"{name}.ipynb")
