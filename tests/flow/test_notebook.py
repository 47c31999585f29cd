"""The notebook about planning runs from top to bottom, and was committed without outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "planning.ipynb"


def cells() -> list[Any]:
    notebook: Any = nbformat.read(NOTEBOOK, 4)  # type: ignore[no-untyped-call]
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_it_is_committed_without_outputs() -> None:
    assert [cell.outputs for cell in cells() if cell.outputs] == []
    assert {cell.execution_count for cell in cells()} == {None}


@pytest.mark.filterwarnings("ignore")  # what a kernel's own libraries warn of
async def test_it_runs(tmp_path: Path) -> None:
    notebook: Any = nbformat.read(NOTEBOOK, 4)  # type: ignore[no-untyped-call]
    where = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(notebook, timeout=100, kernel_name="python3", resources=where)
    await client.async_execute()
    said = "".join(
        output.get("text", "")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stdout"
    )
    for words in (
        "Status: 0 completed, 0 in progress, 0 blocked, 3 not started",
        "1. [ ] Write terms.md: delivery within 14 days, nothing else",
        "0. [!] Find the price of a chair in catalogue.csv",
        "next: ('plan',)",
        "idle plan_incomplete",
        "1. [!] Guess the price of a chair",
        "finished completed",
        "12 chairs at 45: 540\nDelivery within 14 days.",
    ):
        assert words in said
