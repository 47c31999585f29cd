"""The notebooks are run, offline, wherever Jupyter was started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(autouse=True)
def bare_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home without kernels and settings of its owner, and no way out to the network."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")


def notebook_at(path: Path) -> Any:
    return nbformat.reads(path.read_text("utf-8"), as_version=4)  # type: ignore[no-untyped-call]


def executed(path: Path, folder: Path) -> str:
    """All that the notebook prints and shows. A cell that raises fails the test."""
    notebook = notebook_at(path)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_name="python3", timeout=100, resources=where).execute()
    return "\n".join(shown(output) for cell in notebook.cells for output in cell.get("outputs", []))


def shown(output: Any) -> str:
    assert output.get("name") != "stderr", output["text"]
    return "\n".join([output.get("text", ""), *map(str, output.get("data", {}).values())])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("folder", [ROOT, ROOT / "notebooks"], ids=["root", "notebooks"])
def test_a_notebook_runs(path: Path, folder: Path) -> None:
    before = set(folder.iterdir())
    printed = executed(path, folder)
    assert set(folder.iterdir()) == before, "it leaves files behind"
    for line in EXPECTED.get(path.stem, []):
        assert line in printed


EXPECTED = {
    "stepping": [
        "think -. &nbsp;call&nbsp; .-> act;",
        "next: ('act',) · files: []",
        "next: ('stuck_check',) · files: ['calculator.py']",
        "finished · terminated",
        "Step 5: terminate → The run ends with success.",
        "calculator 6 * 7 → 42",
        "calculator 1 / 0 → calculator: cannot divide by zero",
        "   observation 0.3333333333333333 [exit code 0]",
        "does not hold this conversation; message 6 of 7 is the first that differs",
        "finished · A third is 0.333…",
        "finished · files: ['calculator.py', 'test_calculator.py']",
    ],
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_committed_holds_no_outputs(path: Path) -> None:
    notebook = notebook_at(path)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_there_are_notebooks() -> None:
    assert "stepping" in [path.stem for path in NOTEBOOKS]
