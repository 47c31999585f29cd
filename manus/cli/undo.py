"""Undo the file edits of a run, and list its other changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from manus.pages.report.edits import find_edit, relative
from manus.pages.report.files import changed_during
from manus.pages.trace.model import TraceCall, TraceRun
from manus.prompts.formatting import fit, main_argument
from manus.state.errors import ToolError
from manus.tools.editor.editor import Editor
from manus.tools.shell.commands import plain_commands
from manus.workspace.workspace import Workspace

if TYPE_CHECKING:
    from manus.threads.base import Store

_READ_ONLY_PROGRAMS = frozenset(
    {
        *("cat", "cd", "date", "diff", "echo", "file", "grep", "head", "ls", "pwd", "rg", "stat"),
        *("tail", "tree", "true", "wc", "which"),
    }
)
"""Programs that only read, with any arguments."""
_MAX_NAMES = 8
"""Files or commands listed by name; the others are counted."""
_WIDTH = 60
"""Terminal cells of a listed command."""


@dataclass(slots=True)
class Undone:
    """The undone edits, and the changes that remain."""

    edits: list[str] = field(default_factory=list)
    """One sentence per edit that was undone or could not be."""
    remaining: list[str] = field(default_factory=list)
    """One sentence per kind of change that cannot be undone."""


async def restore_files(store: Store, thread_id: str) -> str:
    """Undo the file changes of the newest run that has any left, including those of programs.

    Returns what was done; empty if the files are not recorded, or nothing is left.
    """
    from manus.threads.rewind import Rewinder
    from manus.threads.snapshots.restored_text import describe_effects, describe_files
    from manus.threads.thread_list import read_thread

    thread = await read_thread(store, thread_id)
    if thread is None:
        return ""
    async with store.hold(thread_id):
        result = await Rewinder(store, thread).restore_files()
    if result is None:
        return ""
    return "\n".join([*describe_files(result), *describe_effects(result.outside_effects)])


def undo_last(runs: Sequence[TraceRun]) -> Undone:
    """Undo the edits of the newest run that has any left. Blocking.

    A file that was changed by something else since is reported and not touched. Changes made by
    programs are not undone but listed, for this run and for later runs without edits.
    """
    edited: set[str] = set()
    for run in runs:
        edited |= _edited_files(run)
    later_runs: list[TraceRun] = []
    for run in reversed(runs):
        sentences = []
        if run.started_at:
            sentences = list(_undo_edits(run, run.started_at.timestamp()))
        if sentences:
            return Undone(sentences, _describe_remaining([run, *later_runs], edited))
        if not _edited_files(run):  # edits of other runs were undone and reported before
            later_runs.append(run)
    return Undone([], _describe_remaining(later_runs[:1], edited))


def _undo_edits(run: TraceRun, start: float) -> Iterator[str]:
    workspace = Workspace(run.workspace)
    refused: set[str] = set()
    for edit in filter(None, map(find_edit, reversed([*_calls(run)]))):
        if edit.path in refused:
            continue
        try:
            editor = Editor(workspace, edit.path, 1, writes=True)
            if editor.has_edited(since=start):
                yield editor.undo().text
        except ToolError as error:
            refused.add(edit.path)
            yield str(error)


def _calls(run: TraceRun) -> Iterator[TraceCall]:
    """Yield the calls of a run and of the agents it delegated to, in order."""
    for step in run.agent_steps:
        for call in step.calls:
            yield call
            if call.run is not None:
                yield from _calls(call.run)


def _edited_files(run: TraceRun) -> set[str]:
    """Return the files changed by the editor, relative to the workspace."""
    edits = map(find_edit, _calls(run))
    return {relative(edit.path, run.workspace) for edit in edits if edit is not None}


def _describe_remaining(runs: Sequence[TraceRun], edited: set[str]) -> list[str]:
    """Describe what remains of the runs: files changed by programs, and commands."""
    files: dict[str, None] = {}
    commands: dict[str, None] = {}
    for run in runs:
        files.update(dict.fromkeys(path for path in changed_during(run) if path not in edited))
        for step in run.agent_steps:
            for call in filter(_may_change, step.calls):
                commands[fit(f"{call.name}: {main_argument(call.args)}", _WIDTH)] = None
    sentences = []
    if files:
        names = _join_names(list(files))
        sentences.append(f"Not undone: {names} (changed by programs, not by the editor).")
    if commands:
        names = _join_names(list(commands))
        sentences.append(f"Not undone: changes and deletions by these commands: {names}.")
    return sentences


def _may_change(call: TraceCall) -> bool:
    """Return whether a call ran a program that may change files."""
    if call.observation is None or call.name not in ("bash", "python_execute"):
        return False
    line = call.args.get("command") if isinstance(call.args, dict) else None
    commands = plain_commands(line) if isinstance(line, str) else None
    return commands is None or any(
        words.split()[0] not in _READ_ONLY_PROGRAMS for words in commands
    )


def _join_names(names: Sequence[str]) -> str:
    text = ", ".join(names[:_MAX_NAMES])
    hidden = len(names) - _MAX_NAMES
    return f"{text} and {hidden} more" if hidden > 0 else text
