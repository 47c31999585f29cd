"""Derive what chat UIs read from a thread's state: `todos`, `files`, open questions.

Plan and files are derived when the state is read, so that no checkpoint stores them twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from langgraph.types import PregelTask, StateSnapshot

from manus.graph.inputs import served_root
from manus.graph.outcome import with_task_status
from manus.state.errors import ManusError
from manus.state.plan import list_todos
from manus.workspace.safe_open import look_at, open_file
from manus.workspace.workspace import Workspace

TODOS = "todos"
FILES = "files"
_SOURCES = ("plans", "active_plan", "plan", "changed_files", "run")
"""Keys of the state that `todos` and `files` are derived from."""
MOST_FILES = 20
"""Number of files; the most recently changed ones are included."""
MOST_OF_FILE = 20_000
"""Characters of one file."""
MOST_OF_ALL = 100_000
"""Characters of all files together."""


async def adapt_for_chat_uis(snapshot: StateSnapshot) -> StateSnapshot:
    """Return a snapshot with `todos` and `files`, and without answered questions.

    LangGraph keeps the questions of finished tasks while another task waits.
    """
    tasks = snapshot.tasks
    if any(task.result is None for task in tasks):
        tasks = tuple(map(_drop_answered, tasks))
    values = snapshot.values
    if isinstance(values, dict):
        values = await with_chat_values(values)
    interrupts = tuple(chain.from_iterable(task.interrupts for task in tasks))
    snapshot = snapshot._replace(values=values, tasks=tasks, interrupts=interrupts)
    return with_task_status(snapshot)


def _drop_answered(task: PregelTask) -> PregelTask:
    if task.result is None:
        return task
    return task._replace(interrupts=())


async def with_chat_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a state with `todos` and `files`, where there are any."""
    derived: dict[str, Any] = {}
    plans = values.get("plans") or {}
    active = values.get("active_plan")
    if TODOS not in values and active in plans:
        derived[TODOS] = list_todos(plans[active])
    workspace = (values.get("run") or {}).get("workspace")
    paths = _changed_files(values)
    if FILES not in values and workspace and paths:
        files = await asyncio.to_thread(_read_files, workspace, paths)
        if files:
            derived[FILES] = files
    return {**values, **derived} if derived else values


def _changed_files(values: Mapping[str, Any]) -> list[str]:
    """Return the paths of changed files, newest first."""
    steps = (values.get("plan") or {}).get("steps") or []
    paths: list[str] = []
    for step in steps:
        result = step.get("result") or {}
        paths += result.get("files", ())
    paths += values.get("changed_files") or ()
    return list(dict.fromkeys(reversed(paths)))[:MOST_FILES]


def _read_files(workspace: str, paths: Iterable[str]) -> dict[str, str]:
    """Return the texts of files by path. Blocking.

    A workspace outside the server's root yields none: a client that can change the state of a
    thread could name any folder.
    """
    try:
        root = served_root()
        folder = Workspace(workspace)
    except (ManusError, OSError, ValueError):
        return {}
    if not folder.root.is_relative_to(root):
        return {}
    texts: dict[str, str] = {}
    remaining = MOST_OF_ALL
    for path in paths:
        text = _read_text(folder, path)
        if text is not None and len(text) <= remaining:
            texts[path] = text
            remaining -= len(text)
    return dict(sorted(texts.items()))


def _read_text(workspace: Workspace, path: str) -> str | None:
    """Return the text of a file, or None if it no longer exists."""
    try:
        real = workspace.readable(path)
        about = look_at(real)
        if about is None:
            return None
        return _cached_text(real, about.st_mtime_ns, about.st_size)
    except (ManusError, OSError):
        return None


@lru_cache(maxsize=64)
def _cached_text(real: Path, _: int, size: int) -> str:
    with open_file(real) as file:
        # a character of UTF-8 has at most four bytes
        data = file.read(4 * MOST_OF_FILE)
    if b"\0" in data:
        return f"({size:,} bytes, not text)"
    text = data.decode("utf-8", "replace")
    if len(text) <= MOST_OF_FILE and len(data) == size:
        return text
    return f"{text[:MOST_OF_FILE]}\n… (the first {MOST_OF_FILE:,} characters of {size:,} bytes)"


class ChatStream:
    """Translator of a stream that adds `todos` and `files` to its values.

    The server requests only the output keys, so the keys that these are derived from are requested
    too, and removed again.
    """

    def __init__(self, output_keys: Sequence[str], channels: Collection[str]) -> None:
        self._added = set(_SOURCES).intersection(channels).difference(output_keys)
        self.output_keys = [*output_keys, *sorted(self._added)]

    async def translate(self, part: Any) -> Any:
        """Return a part of the stream, translated: `(mode, data)` or `(namespace, mode, data)`."""
        if not isinstance(part, tuple):
            return part
        *namespace, mode, data = part
        is_nested = bool(namespace and namespace[0])
        if is_nested or not isinstance(data, dict):
            return part
        if mode == "values":
            data = await self._translate_values(data)
        elif mode == "updates":
            data = {node: self._strip(update) for node, update in data.items()}
        elif mode == "debug" and data.get("type") == "checkpoint":
            payload = data["payload"]
            values = await self._translate_values(payload["values"])
            data = {**data, "payload": {**payload, "values": values}}
        return (*part[:-1], data)

    async def _translate_values(self, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return self._strip(await with_chat_values(values))

    def _strip(self, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {key: value for key, value in values.items() if key not in self._added}
