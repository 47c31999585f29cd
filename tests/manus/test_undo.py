"""What is taken back of a run's edits, and what is said of those that cannot be."""

from datetime import UTC, datetime
from pathlib import Path

from manus.trace.model import Call, Run, Step
from manus.undo import undo_last


def test_a_file_that_leads_out_by_now_is_said_once(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "f").symlink_to(tmp_path / "elsewhere")
    args = {"command": "create", "path": "f", "file_text": "x"}
    edits = [Call(str(n), "str_replace_editor", args, observation="Created f.") for n in range(3)]
    began = datetime(2024, 1, 1, tzinfo=UTC)
    run = Run(began=began, workspace=str(workspace), steps=[Step(1, calls=edits)])
    [said] = undo_last([run])
    assert "outside the workspace" in said
