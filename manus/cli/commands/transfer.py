"""`manus export` and `import`: move a thread to another machine, or write its trajectory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from manus.cli.options import thread_id, workspace_option

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.runs.imports import ThreadFile
    from manus.threads.base import Store

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("thread", type=thread_id)
@click.argument("file", type=_FILE)
@click.option("--files", is_flag=True, help="Also export the recorded files of its workspace.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["zip", "atif", "openai-jsonl", "otel", "ipynb"]),
    default="zip",
    help="zip: for `manus import`. atif: the trajectory, for Harbor and its viewers. openai-jsonl: "
    "the messages of each agent, a line each. otel: OpenTelemetry spans, as OTLP/JSON. ipynb: a "
    "notebook of the Python that ran. [default: zip]",
)
def export(thread: str, file: Path, files: bool, form: str) -> int:
    """Write a thread to a file, to move it or to analyze it.

    API keys, other secrets of this machine and files that contain one are omitted, as are unread
    messages.
    """
    from manus.cli.settings import read_settings, with_store
    from manus.state.errors import UsageError

    settings = read_settings()
    if form == "zip":
        with_store(lambda store: _export(store, settings, thread, file, files=files), settings)
        return 0
    if files:
        raise UsageError("A trajectory contains no files; leave out --files, or use --format zip.")
    with_store(lambda store: _export_trajectory(store, settings, thread, file, form), settings)
    return 0


async def _export_trajectory(
    store: Store, settings: Settings, prefix: str, path: Path, form: str
) -> None:
    import json
    import os

    from manus.pages.trace.formats import as_atif, as_notebook, as_openai
    from manus.pages.trace.otel import as_otel
    from manus.pages.trace.reading import read_trace
    from manus.runs.export import SecretValues
    from manus.state.errors import UsageError
    from manus.threads.thread_list import find_thread

    thread = await find_thread(store, prefix)
    runs = await read_trace(store, thread)
    lines = {
        "atif": lambda: [as_atif(thread, runs)],
        "openai-jsonl": lambda: [*as_openai(runs)],
        "otel": lambda: [as_otel(thread, runs)],
        "ipynb": lambda: [as_notebook(runs)],
    }[form]()
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    content = SecretValues(settings, os.environ).mask(text.encode("utf-8", "replace"))
    try:
        path.write_bytes(content)  # noqa: ASYNC240 - nothing else waits
    except OSError as error:
        raise UsageError(f"Cannot write {path} ({error.strerror}).") from None


async def _export(
    store: Store, settings: Settings, prefix: str, path: Path, *, files: bool
) -> None:
    import os

    from manus.cli.screen import Screen
    from manus.prompts.formatting import count, join_names, size
    from manus.runs.export import SecretValues, export_thread
    from manus.runs.messages import read_unread
    from manus.threads.thread_list import get_thread

    thread = await get_thread(store, prefix)
    secrets = SecretValues(settings, os.environ)
    unread = await read_unread(store, thread.thread_id)
    async with store.hold(thread.thread_id):
        exported = await export_thread(store, thread, path, secrets, files=files)
    screen = Screen(quiet=False)
    content = f" and {count(exported.files, 'file')}" if files else ""
    screen.paragraph(
        f"Exported the thread {thread.thread_id}{content} to {path} ({size(exported.size)})."
    )
    if exported.left_out:
        screen.paragraph(
            f"Omitted because they may contain secrets: {join_names(exported.left_out)}"
        )
    if unread:
        screen.paragraph(
            "Omitted because they wait for the agent here; send them again after the import: "
            f"{join_names([message.text for message in unread])}"
        )


@click.command("import")
@click.argument("file", type=_FILE)
@click.option("--thread", metavar="ID", type=thread_id, help="Id of the thread. [default: its own]")
@click.option("--with-dotfiles", is_flag=True, help="Also write files that start by themselves.")
@workspace_option
def import_thread(
    file: Path, thread: str | None, workspace: str | None, with_dotfiles: bool
) -> int:
    """Store a thread from a zip file of `manus export`.

    Files are written to a new folder, without those that editors, shells, git and other programs
    start by themselves. The thread's approvals are not imported, and its text counts
    as untrusted.
    """
    from manus.cli.settings import read_settings, with_store
    from manus.runs.imports import open_thread_file

    settings = read_settings()
    with open_thread_file(file) as opened:
        folder = _select_folder(settings, opened, workspace)
        with_store(
            lambda store: _import(store, opened, folder, thread, with_dotfiles=with_dotfiles),
            settings,
        )
    return 0


def _select_folder(settings: Settings, file: ThreadFile, workspace: str | None) -> Path:
    """Return the workspace: for files a new folder, by default with the name of the original."""
    from manus.runs.configuration import resolve_workspace

    if workspace is None and file.has_files:
        return Path(Path(file.workspace).name or "workspace")
    return Path(resolve_workspace(settings, workspace))


async def _import(
    store: Store, file: ThreadFile, folder: Path, new_id: str | None, *, with_dotfiles: bool
) -> None:
    from manus.cli.screen import Screen
    from manus.prompts.formatting import count, join_names
    from manus.runs import imports

    imported = await imports.import_thread(store, file, folder, new_id, with_dotfiles=with_dotfiles)
    screen = Screen(quiet=False)
    files = f", with {count(imported.files, 'file')}" if file.has_files else ""
    screen.paragraph(
        f"Imported the thread {imported.thread_id}, files in {imported.workspace}{files}."
    )
    if imported.skipped:
        screen.paragraph(
            "Not written because they link outside the folder or failed: "
            f"{join_names(imported.skipped)}"
        )
    if imported.started:
        screen.paragraph(
            "Not written because other programs start them by themselves (--with-dotfiles writes "
            f"them): {join_names(imported.started)}"
        )
    screen.paragraph(f"View it with: manus show {imported.thread_id}", "dim")
