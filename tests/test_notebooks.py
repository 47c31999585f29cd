"""The notebooks run offline, wherever Jupyter was started; their output is plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from nbclient import NotebookClient

from manus.notebook import show_run, show_update
from manus.state.plan import Plan

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelManager]:
    """Provide one kernel for all, so that packages are imported once.

    Its home has no kernels or settings of the developer, and the network is not accessible.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        patch.delenv("PYTHONPATH", raising=False)
        for name in ("http_proxy", "https_proxy"):
            patch.setenv(name, "http://127.0.0.1:9")
        patch.setenv("no_proxy", "127.0.0.1,localhost")
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


def notebook_at(path: Path) -> Any:
    return nbformat.reads(path.read_text("utf-8"), as_version=4)  # type: ignore[no-untyped-call]


def executed(path: Path, folder: Path, kernel: KernelManager) -> str:
    """Return everything that the notebook outputs. A cell that raises fails the test."""
    notebook = notebook_at(path)
    fresh = f"%reset -f\nimport os\nos.chdir({str(folder)!r})"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(fresh))  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, km=kernel, timeout=100, coalesce_streams=True)
    try:
        client.execute()
    finally:
        assert client.kc is not None
        client.kc.stop_channels()
    return "\n".join(
        get_output(output) for cell in notebook.cells for output in cell.get("outputs", [])
    )


def get_output(output: Any) -> str:
    assert output.get("name") != "stderr", output["text"]
    return "\n".join([output.get("text", ""), *map(str, output.get("data", {}).values())])


def list_files(folder: Path) -> set[Path]:
    """Return the entries of a folder but those of `make coverage`."""
    return {path for path in folder.iterdir() if not path.name.startswith(".coverage")}


@pytest.mark.timeout(300)
@pytest.mark.sample(every=3)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, kernel: KernelManager, subtests: pytest.Subtests) -> None:
    folder = ROOT if path.stem in FROM_ROOT else ROOT / "notebooks"
    before = list_files(folder)
    printed = executed(path, folder, kernel)
    assert list_files(folder) == before, "it left files behind"
    for line in EXPECTED[path.stem]:
        with subtests.test(line=line):
            assert line in printed
    assert LOADS.findall(printed) == [], "it loads something from elsewhere"


FROM_ROOT = ("stepping", "tour")
"""Executed in the editor's current folder; the others in their own folder, as JupyterLab does."""
LOADS = re.compile(
    r'<script|<link|<iframe|@import|\b(?:src|href|url)\s*[=(](?!"data:)', re.IGNORECASE
)
"""Markup that makes a page fetch something."""
EXPECTED = {
    "tour": [
        "think -. &nbsp;call&nbsp; .-> act;",
        "answered · The door is green.",
        "Status: 4 completed, 0 in progress, 0 blocked, 0 not started",
    ],
    "stepping": [
        "next: ('stuck_check',) · files: ['calculator.py']",
        "anext: act",
        "does not contain this conversation; message 6 of 7 is the first that differs",
        "finished · files: ['calculator.py', 'test_calculator.py']",
    ],
    "planning": [
        "1. [ ] Write terms.md: delivery within 14 days, nothing else",
        "idle plan_incomplete",
        "12 chairs at 45: 540\nDelivery within 14 days.",
    ],
    "time_travel": [
        "      ┬ 2 branches after: ai: The sum is 300. ['bash']",
        "report.txt has the total: 300.\nreport.txt has the sum: 300.",
    ],
    "custom_tool_and_profile": [
        "error: `lookup` failed: ValueError: there is no glossary in 'de'",
        "\nIt is not in the glossary.\n",
    ],
    "data_analysis": [
        "A chart of 1,461 rows: charts/heat.png",
        "November is the wettest month (161 mm), July the driest (12 mm).",
    ],
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_outputs_match_except_for_varying_parts(
    path: Path, subtests: pytest.Subtests
) -> None:
    notebook = notebook_at(path)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count is None for cell in cells)
    text = "\n".join(get_output(output) for cell in cells for output in cell.outputs)
    for line in EXPECTED[path.stem]:
        with subtests.test(line=line):
            assert line in text
    assert re.findall(r"/tmp/\w+|/home/\w+|\b\d\d:\d\d:\d\d\b", text) == []
    assert "from tests" not in path.read_text()


EVIL = "<script>alert(1)</script> \x1b[31m & \x07"
CALL = {"name": EVIL, "args": {"command": EVIL, EVIL: 1}, "id": "c"}
VALUES: dict[str, Any] = {
    "messages": [
        HumanMessage(EVIL, id="r"),
        AIMessage(EVIL, tool_calls=[CALL]),
        ToolMessage(EVIL, tool_call_id="c", status="error"),
    ],
    "run": {"request_id": "r"},
    "status": EVIL,
    "stop_reason": EVIL,
}
STEP: Any = {"text": EVIL, "executor": EVIL, "status": "blocked", "notes": EVIL, "depends_on": []}
PLAN: Plan = {"id": EVIL, "title": EVIL, "steps": [STEP]}


def test_text_has_no_control_characters(subtests: pytest.Subtests) -> None:
    for output in (
        show_run(VALUES),
        show_update(EVIL, {**VALUES, "loop": {"what": EVIL}}),
        show_update("act", {"messages": VALUES["messages"][2:]}),
        show_run({"plan": PLAN}),
    ):
        with subtests.test(output=output):
            assert "<script>" in repr(output)
            assert not {"\x1b", "\x07"} & {*repr(output)}
            assert output._repr_markdown_() is None
