"""What a run changed with the editor, taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from manus.run_report.edits import edit_of
from manus.state.errors import ToolError
from manus.tools.editor.editor import Editor
from manus.tools.workspace import Workspace
from manus.trace.model import Run


def undo_last(runs: Sequence[Run]) -> list[str]:
    """Undo the edits of the newest run that has some left, a sentence each. Blocking.

    A file that something else has changed since is left alone, and that is said.
    """
    told = ([*_undone(run, run.began.timestamp())] for run in reversed(runs) if run.began)
    return next(filter(None, told), [])


def _undone(run: Run, began: float) -> Iterator[str]:
    workspace = Workspace(run.workspace)
    refused: set[str] = set()
    for step in reversed(run.agent_steps):
        for edit in filter(None, map(edit_of, reversed(step.calls))):
            if edit.path in refused:
                continue
            try:
                editor = Editor(workspace, edit.path, 1, writes=True)
                if editor.has_edited(since=began):
                    yield editor.undo().text
            except ToolError as error:
                refused.add(edit.path)
                yield str(error)
