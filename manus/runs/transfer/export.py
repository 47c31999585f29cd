"""Write a thread to a zip file."""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manus.runs.transfer import format as fmt
from manus.runs.transfer.secret_values import SecretValues
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
    config: Any = {"configurable": {"thread_id": thread.thread_id}}
    checkpoints = [checkpoint async for checkpoint in store.alist(config)][::-1]
    return await asyncio.to_thread(_write, thread, checkpoints, path, secrets, files)


def _write(
    thread: Thread,
    checkpoints: Sequence[CheckpointTuple],
    path: Path,
    secrets: SecretValues,
    files: bool,
) -> Exported:
    """Write the zip file; if that fails, delete it. Blocking."""
    exported = Exported(checkpoints=len(checkpoints))
    is_new = is_complete = False
    try:
        with path.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            is_new = True
            rows = (_as_json(checkpoint, secrets) for checkpoint in checkpoints)
            manifest = _build_manifest(thread, has_files=files)
            _write_rows(archive, fmt.MANIFEST, [manifest], secrets)
            _write_rows(archive, fmt.CHECKPOINTS, rows, secrets)
            _write_rows(archive, fmt.ARCHIVE, _read_archive(thread, checkpoints), secrets)
            if files:
                _write_files(archive, thread, secrets, exported)
        exported.size = path.stat().st_size
        is_complete = True
    except FileExistsError:
        raise UsageError(f"{path} already exists; choose another name, or delete it.") from None
    except OSError as error:
        raise StorageError(
            f"Cannot write {path}: {error.strerror}. Free some space or choose another folder. "
            "The thread is unchanged."
        ) from None
    finally:
        if is_new and not is_complete:
            path.unlink(missing_ok=True)
    return exported


def _build_manifest(thread: Thread, *, has_files: bool) -> dict[str, Any]:
    return {
        "format": fmt.FORMAT,
        "manus": VERSION,
        "store": STORE_VERSION,
        "thread": thread.thread_id,
        "graph": thread.kind,
        "request": thread.request,
        "workspace": thread.workspace or "",
        "files": has_files,
    }


def _write_rows(
    archive: zipfile.ZipFile, name: str, rows: Iterable[Any], secrets: SecretValues
) -> None:
    with archive.open(name, "w", force_zip64=True) as member:
        for row in rows:
            member.write(secrets.mask(json.dumps(row).encode()) + b"\n")


def _namespace(checkpoint: CheckpointTuple) -> str:
    return str(checkpoint.config["configurable"].get("checkpoint_ns", ""))


def _as_json(stored: CheckpointTuple, secrets: SecretValues) -> dict[str, Any]:
    metadata: dict[str, Any] = dict(stored.metadata)
    names = {*fmt.METADATA, *fmt.LANGGRAPH_METADATA, *fmt.MARKS}
    return {
        "namespace": _namespace(stored),
        "parent": (stored.parent_config or {}).get("configurable", {}).get("checkpoint_id"),
        "metadata": {name: metadata[name] for name in names & metadata.keys()},
        "checkpoint": fmt.encode(stored.checkpoint, secrets.mask),
        "writes": [
            [task, channel, *fmt.encode(value, secrets.mask)]
            for task, channel, value in stored.pending_writes or ()
        ],
    }


def _read_archive(thread: Thread, checkpoints: Sequence[CheckpointTuple]) -> Iterator[list[Any]]:
    """Yield the messages that compaction removed from the history. Blocking."""
    records = Workspace(thread.workspace or ".").records
    for namespace in sorted({"", *map(_namespace, checkpoints)}):
        path = Archive.path_for(records, run_key(thread.thread_id, namespace))
        for row in Archive(path).messages() if path.exists() else ():
            yield [namespace, row.number, row.id, row.who, row.text]


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
    _write_rows(archive, fmt.FILES, ([path, *entry] for path, entry in entries.items()), secrets)
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
