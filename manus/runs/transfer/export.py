"""Write a thread to a zip file."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manus.runs.transfer import format as fmt
from manus.runs.transfer.secret_values import SecretValues
from manus.runs.transfer.values import map_texts
from manus.state.errors import StorageError, UsageError
from manus.threads.archive import Archive
from manus.threads.records.files import run_key
from manus.threads.records.store_version import STORE_VERSION
from manus.threads.snapshots.objects import SnapshotStore, make_ref
from manus.threads.snapshots.rewinding import SNAPSHOTS
from manus.version import VERSION
from manus.workspace.tree import Tree
from manus.workspace.workspace import Workspace

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple

    from manus.threads.base import Store
    from manus.threads.thread_list import Thread

_ENVIRONMENT_FILE = ".env"


@dataclass(slots=True)
class Exported:
    """The result of an export."""

    size: int = 0
    """Bytes of the zip file."""
    checkpoints: int = 0
    files: int = 0
    left_out: list[str] = field(default_factory=list)
    """Files that contain a secret."""


async def export_thread(
    store: Store, thread: Thread, path: Path, secrets: SecretValues, *, files: bool
) -> Exported:
    """Write a thread, which the caller holds, to a new zip file.

    Args:
        store: the store of the thread.
        thread: the thread to export.
        path: the file to create, which must not exist.
        secrets: values that are masked in texts; files that contain one are omitted.
        files: also export the files of the workspace, as they were after the newest step.

    Raises:
        UsageError: the file exists, or the files of the workspace are not recorded.
        StorageError: the file cannot be written.
    """
    if await asyncio.to_thread(path.exists):
        raise UsageError(f"{path} already exists; choose another name, or delete it.")
    exported = Exported()
    namespaces: set[str] = {""}
    with _write_atomically(path) as archive:
        _write_json(archive, fmt.MANIFEST, _build_manifest(thread, secrets, has_files=files))
        with archive.open(fmt.CHECKPOINTS, "w", force_zip64=True) as member:
            for checkpoint in await _read_checkpoints(store, thread.thread_id):
                line = json.dumps(_as_json(checkpoint, secrets))
                await asyncio.to_thread(member.write, line.encode() + b"\n")
                namespaces.add(_namespace(checkpoint))
                exported.checkpoints += 1
        await asyncio.to_thread(_write_archive, archive, thread, sorted(namespaces), secrets)
        if files:
            await asyncio.to_thread(_write_files, archive, thread, secrets, exported)
    exported.size = (await asyncio.to_thread(path.stat)).st_size
    return exported


@contextmanager
def _write_atomically(path: Path) -> Iterator[zipfile.ZipFile]:
    """Write a zip file that appears under its name when it is complete."""
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:50]}-", dir=path.parent)
        with (
            os.fdopen(handle, "wb") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            yield archive
        Path(temporary).replace(path)
    except OSError as error:
        raise StorageError(
            f"Cannot write {path}: {error.strerror}. Free some space or choose another folder. "
            "The thread is unchanged."
        ) from None
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink(missing_ok=True)


def _build_manifest(thread: Thread, secrets: SecretValues, *, has_files: bool) -> dict[str, Any]:
    return {
        "format": fmt.FORMAT,
        "manus": VERSION,
        "store": STORE_VERSION,
        "thread": thread.thread_id,
        "graph": thread.kind,
        "request": secrets.hide(thread.request),
        "workspace": thread.workspace or "",
        "files": has_files,
    }


def _write_json(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    archive.writestr(name, json.dumps(content))


async def _read_checkpoints(store: Store, thread_id: str) -> list[CheckpointTuple]:
    """Return all checkpoints of a thread, oldest first."""
    config: Any = {"configurable": {"thread_id": thread_id}}
    return [checkpoint async for checkpoint in store.alist(config)][::-1]


def _namespace(checkpoint: CheckpointTuple) -> str:
    return str(checkpoint.config["configurable"].get("checkpoint_ns", ""))


def _as_json(stored: CheckpointTuple, secrets: SecretValues) -> dict[str, Any]:
    parent = (stored.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    metadata: dict[str, Any] = dict(stored.metadata)
    names = {*fmt.METADATA, *fmt.LANGGRAPH_METADATA, *fmt.MARKS}
    return {
        "namespace": _namespace(stored),
        "parent": parent,
        "metadata": {n: map_texts(metadata[n], secrets.hide) for n in names & metadata.keys()},
        "checkpoint": fmt.encode(map_texts(stored.checkpoint, secrets.hide)),
        "writes": [
            [task, channel, *fmt.encode(map_texts(value, secrets.hide))]
            for task, channel, value in stored.pending_writes or ()
        ],
    }


def _write_archive(
    archive: zipfile.ZipFile, thread: Thread, namespaces: list[str], secrets: SecretValues
) -> None:
    """Write the messages that compaction removed from the history. Blocking."""
    records = Workspace(thread.workspace or ".").records
    with archive.open(fmt.ARCHIVE, "w", force_zip64=True) as member:
        for namespace in namespaces:
            path = Archive.path_for(records, run_key(thread.thread_id, namespace))
            for row in Archive(path).messages() if path.exists() else ():
                text = secrets.hide(row.text)
                line = json.dumps([namespace, row.number, row.id, row.who, text])
                member.write(line.encode() + b"\n")


def _write_files(
    archive: zipfile.ZipFile, thread: Thread, secrets: SecretValues, exported: Exported
) -> None:
    """Write the files of the workspace as they were after the newest step. Blocking."""
    store, tree = _read_tree(thread)
    entries = dict(tree.entries)
    paths: dict[str, list[str]] = {}
    for path, entry in tree.entries.items():
        if path.rpartition("/")[2].startswith(_ENVIRONMENT_FILE):
            exported.left_out.append(path)
            del entries[path]
        elif entry.object:
            paths.setdefault(entry.object, []).append(path)
    for identifier, content in store.read_objects(paths):
        if secrets.is_in(content):
            exported.left_out += paths[identifier]
            for path in paths[identifier]:
                del entries[path]
        else:
            archive.writestr(f"{fmt.OBJECTS}{identifier}", content)
    lines = [json.dumps([path, *entry]) for path, entry in entries.items()]
    archive.writestr(fmt.FILES, "".join(f"{line}\n" for line in lines))
    exported.files = sum(entry.kind != "folder" for entry in entries.values())


def _read_tree(thread: Thread) -> tuple[SnapshotStore, Tree]:
    folder = Workspace(thread.workspace or ".").records / SNAPSHOTS
    store = SnapshotStore.open(folder) if folder.exists() else None
    head = store.head(make_ref(thread.thread_id)) if store is not None else ""
    if store is None or not head:
        raise UsageError(
            f"The files of the thread {thread.thread_id} are not recorded on this machine; omit "
            "--files to export only its messages."
        )
    return store, store.read_tree(head)
