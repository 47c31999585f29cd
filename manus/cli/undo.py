"""Take back what a run changed with the editor, and name what it changed otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from manus.execution.workspace import Workspace
from manus.pages.report.edits import find_edit, relative
from manus.pages.report.files import changed_during
from manus.pages.trace.model import TraceCall, TraceRun
from manus.prompts.formatting import fit, main_argument
from manus.state.errors import ToolError
from manus.tools.editor.editor import Editor
from manus.tools.shell.commands import plain_commands

_READERS = frozenset(
    {
        *("cat", "cd", "date", "diff", "echo", "file", "grep", "head", "ls", "pwd", "rg", "stat"),
        *("tail", "tree", "true", "wc", "which"),
    }
)
"""Programs that only read, whatever their arguments are."""
_MOST_NAMED = 8
"""Files, and commands, that are named; the others are counted."""
_WIDTH = 60
"""Cells of a command."""


@dataclass(slots=True)
class Undone:
    """What was taken back, and what stays as the run left it."""

    edits: list[str] = field(default_factory=list)
    """A sentence for each edit that was undone, or that could not be."""
    left: list[str] = field(default_factory=list)
    """A sentence for each kind of change that the editor cannot undo."""


def undo_last(runs: Sequence[TraceRun]) -> Undone:
    """Undo the edits of the newest run that has some left. Blocking.

    A file that something else has changed since is left alone, and that is said. What was changed
    by other means is not undone: it is named, for this run and for later ones that made no edits.
    """
    edited = {path for run in runs for path in _edited(run)}
    passed: list[TraceRun] = []
    for run in reversed(runs):
        sentences = [*_undone(run, run.started_at.timestamp())] if run.started_at else []
        if sentences:
            return Undone(sentences, _left_by([run, *passed], edited))
        if not _edited(run):  # the edits of the others were undone before, and this was said then
            passed.append(run)
    return Undone([], _left_by(passed[:1], edited))


def _undone(run: TraceRun, began: float) -> Iterator[str]:
    workspace = Workspace(run.workspace)
    refused: set[str] = set()
    for edit in filter(None, map(find_edit, reversed([*_calls(run)]))):
        if edit.path in refused:
            continue
        try:
            editor = Editor(workspace, edit.path, 1, writes=True)
            if editor.has_edited(since=began):
                yield editor.undo().text
        except ToolError as error:
            refused.add(edit.path)
            yield str(error)


def _calls(run: TraceRun) -> Iterator[TraceCall]:
    """Yield the calls of a run and of the agents that it gave work to, in their order."""
    for step in run.agent_steps:
        for call in step.calls:
            yield call
            if call.run is not None:
                yield from _calls(call.run)


def _edited(run: TraceRun) -> set[str]:
    """Return the files that the editor changed, as seen from the workspace."""
    edits = map(find_edit, _calls(run))
    return {relative(edit.path, run.workspace) for edit in edits if edit is not None}


def _left_by(runs: Sequence[TraceRun], edited: set[str]) -> list[str]:
    """Return what stays of the runs: the files that are there, and the commands that ran."""
    changed = dict.fromkeys(path for run in runs for path in changed_during(run))
    files = [path for path in changed if path not in edited]
    calls = [call for run in runs for step in run.agent_steps for call in step.calls]
    commands = dict.fromkeys(
        fit(f"{call.name}: {main_argument(call.args)}", _WIDTH)
        for call in calls
        if _may_change(call)
    )
    left = []
    if files:
        left.append(f"Not undone: {_listed(files)} (changed by programs, not by the editor).")
    if commands:
        left.append(f"Not undone: what these changed or deleted: {_listed([*commands])}.")
    return left


def _may_change(call: TraceCall) -> bool:
    """Return whether a call ran a program, other than one that only reads."""
    if call.observation is None or call.name not in ("bash", "python_execute"):
        return False
    line = call.args.get("command") if isinstance(call.args, dict) else None
    commands = plain_commands(line) if isinstance(line, str) else None
    return commands is None or any(words.split()[0] not in _READERS for words in commands)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
