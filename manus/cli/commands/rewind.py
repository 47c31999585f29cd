"""`manus history`, `rewind`, `fork` and `replay`: the earlier steps of a thread."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from manus.cli.options import last_option, resolve_thread, thread_argument, thread_id

if TYPE_CHECKING:
    from pathlib import Path

    from manus.config.settings import Settings
    from manus.runs.replay import Difference
    from manus.threads.base import Store
    from manus.threads.rewind import Rewound
    from manus.threads.steps import HistoryStep
    from manus.threads.thread_list import Thread


_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("thread", required=False, type=thread_id)
@last_option
@click.option("--json", is_flag=True, help="Print a JSON array on stdout.")
def history(thread: str | None, last: bool, json: bool) -> int:
    """List the steps of a thread and the files that each changed."""
    from manus.cli.settings import with_store

    prefix = resolve_thread(thread, last=last)
    with_store(lambda store: _history(store, prefix, as_json=json))
    return 0


async def _history(store: Store, prefix: str, *, as_json: bool) -> None:
    from manus.cli.output import print_json, print_output
    from manus.prompts.formatting import fit, flat, join_names
    from manus.runs.time_travel import history as list_history
    from manus.threads.rewind import list_steps_ahead
    from manus.threads.thread_list import get_thread

    thread = await get_thread(store, prefix)
    steps = await list_history(store, thread.thread_id)
    if as_json:
        print_json([*map(_as_json, steps)])
        return
    lines = [f"Thread {thread.thread_id}, files in {thread.workspace or '(unknown)'}"]
    if thread.is_compacted:
        lines.append("Its steps were removed by `manus threads --compact`.")
    ahead = await list_steps_ahead(store, thread, steps[-1].number if steps else 0)
    for step in [*steps, *ahead]:
        if step in ahead[:1]:
            lines.append(f"Undone; `manus rewind {thread.thread_id} --undo` returns to:")
        time = step.ended_at.astimezone().strftime("%H:%M:%S") if step.ended_at else "        "
        lines.append(f"{step.number:>4}  {time}  {fit(flat(step.text), _text_width())}")
        if step.files:
            lines.append(f"{'':16}files: {join_names(step.files)}")
    print_output("\n".join(lines))


def _text_width() -> int:
    from manus.cli.screen import build_console

    return max(build_console(sys.stdout).width - 16, 20)


def _as_json(step: HistoryStep) -> dict[str, object]:
    return {
        "step": step.number,
        "text": step.text,
        "ended": step.ended_at.isoformat(timespec="seconds") if step.ended_at else None,
        "checkpoint": step.checkpoint,
        "files": list(step.files),
    }


@click.command()
@click.argument("thread", required=False, type=thread_id)
@last_option
@click.option("--to", metavar="STEP", type=click.IntRange(0), help="The step to return to.")
@click.option("--undo", is_flag=True, help="Undo the last rewind.")
@click.option("--theirs", is_flag=True, help="Also restore files that someone else changed.")
def rewind(thread: str | None, last: bool, to: int | None, undo: bool, theirs: bool) -> int:
    """Return to the end of a step: messages, plan and files."""
    from manus.cli.settings import with_store

    if (to is None) != undo:
        raise click.UsageError("Specify the step to return to: --to STEP, or --undo.")
    prefix = resolve_thread(thread, last=last)
    is_complete = with_store(lambda store: _rewind(store, prefix, to, theirs=theirs))
    return 0 if is_complete else 1


async def _rewind(store: Store, prefix: str, to: int | None, *, theirs: bool) -> bool:
    from manus.runs.time_travel import rewind
    from manus.threads.thread_list import get_thread

    thread = await get_thread(store, prefix)
    result = await rewind(store, thread.thread_id, to, undo=to is None, theirs=theirs)
    headline = f"The thread {thread.thread_id} is back at the end of step {to}."
    if to is None:
        headline = f"Undid the last rewind of the thread {thread.thread_id}."
    _report(thread, headline, result)
    return not result.failed


@click.command()
@click.argument("thread", required=False, type=thread_id)
@last_option
@click.option(
    "--to", "--at", "to", metavar="STEP", type=click.IntRange(0), help="The last step of the fork."
)
@click.option("--workspace", metavar="DIR", type=_FOLDER, help="A new folder for its files.")
def fork(thread: str | None, last: bool, to: int | None, workspace: Path | None) -> int:
    """Continue a copy of a thread from the end of a step."""
    from manus.cli.settings import with_store

    if to is None:
        raise click.UsageError("Specify the last step of the fork: --to STEP.")
    prefix = resolve_thread(thread, last=last)
    with_store(lambda store: _fork(store, prefix, to, workspace))
    return 0


async def _fork(store: Store, prefix: str, at: int, workspace: Path | None) -> None:
    from manus.cli.screen import Screen
    from manus.runs.time_travel import fork as copy_thread
    from manus.threads.thread_list import get_thread

    thread = await get_thread(store, prefix)
    new_id = await copy_thread(store, thread.thread_id, at, workspace=workspace)
    screen = Screen(quiet=False)
    folder = thread.workspace if workspace is None else str(workspace)
    screen.paragraph(f"The thread {new_id} continues from the end of step {at}.", "bold")
    files = "with the files of that step" if workspace is not None else "whose files are unchanged"
    screen.paragraph(f"It works in {folder}, {files}.")
    screen.paragraph(f"Continue with: manus resume {new_id}", "dim")


def _report(thread: Thread, headline: str, result: Rewound) -> None:
    from manus.cli.screen import Screen
    from manus.cli.settings import read_settings
    from manus.runs.time_travel import describe_rewound
    from manus.threads.rewind import find_repository_head

    screen = Screen(quiet=False)
    screen.paragraph(headline, "bold")
    hint = "--theirs restores these too."
    for sentence in describe_rewound(result, read_settings().currency, theirs=hint):
        screen.paragraph(sentence)
    if commit := find_repository_head(thread.workspace):
        screen.paragraph(f"Git is unchanged; HEAD is {commit}.", "dim")
    if result.unread:
        withdraw = f"manus send {thread.thread_id} --withdraw ID"
        screen.paragraph(f"Withdraw an unread message with: {withdraw}", "dim")
    screen.paragraph(f"Undo with: manus rewind {thread.thread_id} --undo", "dim")


@click.command()
@thread_argument
def replay(thread: str) -> int:
    """Repeat a thread with today's tools, and show what differs.

    No model is called: the recorded replies are used again, in a copy of the files as they were
    before the first step. Calls that acted outside the workspace or asked a person are not
    repeated. Exit code 1 if a step differs.
    """
    import tempfile
    from pathlib import Path

    from manus.cli.notes import print_note
    from manus.cli.output import print_output
    from manus.cli.settings import read_settings, with_store

    settings = read_settings()
    with tempfile.TemporaryDirectory(prefix="manus-replay-") as name:
        difference = with_store(
            lambda store: _replay(store, thread, settings, Path(name)), settings
        )
    if difference is None:
        print_note("All steps are as recorded.")
        return 0
    print_output(difference.describe())
    return 1


async def _replay(store: Store, prefix: str, settings: Settings, folder: Path) -> Difference | None:
    import asyncio

    from manus.cli.notes import print_note
    from manus.cli.settings import drop_settings
    from manus.graph import build_graph
    from manus.runs.replay import copy_first_files, read_recorded_runs, replay
    from manus.threads.sqlite import open_sqlite
    from manus.threads.thread_list import get_thread

    recorded = await get_thread(store, prefix)
    runs = await read_recorded_runs(store, recorded)
    workspace = folder / "workspace"
    workspace.mkdir()
    if not await asyncio.to_thread(copy_first_files, recorded, workspace):
        print_note("No files are recorded for this thread, so it starts in an empty folder.")
    profile = recorded.profile or settings.profile
    async with open_sqlite(folder / "threads.sqlite") as copy:
        graph = build_graph("agent", profile, copy)
        drop_settings(folder)
        return await replay(runs, recorded, copy, workspace, graph)
