"""The path of the running Python, with which programs in a sandbox are started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from manus.sandbox.interpreter import remove_parent_steps
from tests.helpers import sandboxes
from tests.helpers.child import ROOT

PATHS = {
    "{}/bin/python": "{}/bin/python",
    "{}/project/../bin/python": "{}/bin/python",
    "{}/link/../python": "{}/deep/python",  # not the one next to the link
    "{}/link/../gone": "{}/deep/gone",
    "project/../bin/./python": "{}/bin/python",
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Provide Pythons at the end of links, in folders one of which is itself a link."""
    for folder in ("bin", "project", "deep/er"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep/er")
    for place in ("bin", "deep", "."):
        (tmp_path / place / "python").symlink_to(sys.executable)
    (tmp_path / "python").unlink()
    (tmp_path / "python").write_text("")
    return tmp_path


@pytest.mark.parametrize("path", PATHS)
def test_a_path_has_no_parent_steps_and_keeps_its_links(
    machine: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(machine)
    result = remove_parent_steps(path.format(machine))
    assert str(result) == PATHS[path].format(machine)


def test_a_demo_runs_with_a_python_named_by_a_path_with_parent_steps(tmp_path: Path) -> None:
    """The folder before `..` is not in the sandbox."""
    folder = tmp_path / "project"
    folder.mkdir()
    process = subprocess.run(
        [os.path.relpath(sys.executable, folder), "-m", "manus", "demo", "calculator"],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            **sandboxes.environment(),
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
