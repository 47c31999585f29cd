"""Tool outputs that a thread has kept in files in its workspace.

Their names are hashes of their contents, so threads in one workspace may share a file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from manus.state.errors import StorageError
from manus.state.messages import get_text
from manus.threads.history import read_history
from manus.threads.thread_id import MAX_THREADS
from manus.workspace.safe_open import is_folder
from manus.workspace.workspace import OBSERVATIONS, Workspace

if TYPE_CHECKING:
    from manus.threads.base import Store

_NAME = re.compile(re.escape(f"{OBSERVATIONS}/") + r"([0-9a-f]{12})")
_STEM_LENGTH = 12


class KeptOutputs:
    """Finds the outputs of the threads of a store; reads each thread once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._references: dict[str, set[str]] = {}
        self._workspaces: dict[str, list[str]] = {}

    async def find_own(self, thread_id: str, workspace: Workspace) -> list[Path]:
        """Return the kept outputs of a thread that no other thread in its workspace refers to.

        If the thread cannot be read, none are returned, so its outputs stay.
        """
        files = _list_outputs(workspace)
        own = files.keys() & await self._read(thread_id) if files else set()
        for other in await self._store.recent(MAX_THREADS) if own else ():
            if other != thread_id and str(workspace.root) in await self._read_workspaces(other):
                own -= await self._read(other)
            if not own:
                break
        return [files[stem] for stem in sorted(own)]

    async def _read(self, thread_id: str) -> set[str]:
        if thread_id not in self._references:
            self._references[thread_id] = await _find_references(self._store, thread_id)
        return self._references[thread_id]

    async def _read_workspaces(self, thread_id: str) -> list[str]:
        if thread_id not in self._workspaces:
            self._workspaces[thread_id] = await self._store.read_workspaces(thread_id)
        return self._workspaces[thread_id]


def _list_outputs(workspace: Workspace) -> dict[str, Path]:
    """Return the kept outputs by the hash in their names."""
    folder = workspace.root / OBSERVATIONS
    if not is_folder(folder):
        return {}
    return {path.name[:_STEM_LENGTH]: path for path in folder.iterdir()}


async def _find_references(store: Store, thread_id: str) -> set[str]:
    """Return the hashes of the outputs that the messages of a thread name or contain."""
    try:
        history = await read_history(store, thread_id)
    except StorageError:
        return set()
    texts: Iterator[str] = (
        get_text(message)
        for supersteps in history.values()
        for superstep in supersteps
        for message in superstep.messages
    )
    references: set[str] = set()
    for text in texts:
        references.update(_NAME.findall(text))
        # text that was truncated only in a request
        data = text.encode("utf-8", "surrogatepass")
        references.add(hashlib.sha256(data).hexdigest()[:_STEM_LENGTH])
    return references
