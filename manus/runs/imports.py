"""Read a thread from an untrusted zip file."""

from __future__ import annotations

import asyncio
import json
import stat
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import CheckpointMetadata, copy_checkpoint
from langgraph.types import Overwrite, Send
from pydantic import ValidationError

from manus.graph.profiles import PROFILES
from manus.runs.export import (
    ARCHIVE,
    CHECKPOINTS,
    FILES,
    FORMAT,
    LANGGRAPH_METADATA,
    MANIFEST,
    MARKS,
    METADATA,
    OBJECTS,
    decode,
    refuse,
)
from manus.state.errors import ManusError, StorageError, UsageError
from manus.state.taint import Exposure, request_fields
from manus.threads.archive import Archive, Archived
from manus.threads.base import Store
from manus.threads.deletion import delete_thread
from manus.threads.history import RESUME
from manus.threads.records.files import run_key
from manus.threads.records.store_version import STORE_VERSION
from manus.threads.snapshots.restore import Restoration, RestorePlan
from manus.threads.thread_id import LONGEST_THREAD_ID
from manus.threads.thread_list import thread_config
from manus.workspace.listing import REPOSITORY
from manus.workspace.protected_names import starts_by_itself
from manus.workspace.tree import Entry, blob_id, path_and_parents
from manus.workspace.workspace import PRIVATE, Workspace

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

_MAX_TOTAL = 2**30
_ALWAYS_ALLOWED = 16 * 2**20
_MAX_RATIO = 200
"""Bytes of all members, unpacked; and how often they may contain the bytes of the file, if they
are more than `_ALWAYS_ALLOWED`. Nothing is written before both are checked."""
_REPLACED: dict[str, Any] = {"approved": [], "named": [], "outside": True, "snapshot": ""}
"""Channels, and fields of the input of a call, with their values in an imported thread."""
_UNUSABLE = (
    *(KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError),
    *(StorageError, ValidationError, zipfile.BadZipFile, EOFError, NotImplementedError),
)
"""Exceptions from reading a damaged or forged file."""
_ESCAPING = frozenset({"", ".", "..", REPOSITORY, PRIVATE})


@dataclass(slots=True)
class Imported:
    """The result of an import."""

    thread_id: str
    workspace: Path
    files: int = 0
    skipped: list[str] = field(default_factory=list)
    """Files that were not written: links that lead out of the workspace, or failed writes."""
    started: list[str] = field(default_factory=list)
    """Files that were not written because other programs start them by themselves."""


class ThreadFile:
    """An exported thread, checked when it is opened."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        # a member cannot be larger than this declares: reading it stops there
        total = sum(member.file_size for member in archive.infolist())
        if total > _MAX_TOTAL:
            raise refuse(path, "it is larger than an exported thread can be (1 GB unpacked)")
        if total > _ALWAYS_ALLOWED and total > _MAX_RATIO * path.stat().st_size:
            raise refuse(path, f"it unpacks to more than {_MAX_RATIO} times its size")
        manifest = json.loads(archive.read(MANIFEST))
        version = int(manifest["format"])
        if version > FORMAT or int(manifest["store"]) > STORE_VERSION:
            raise refuse(path, "it was written by a newer release of manus; update manus")
        self.thread_id = str(manifest["thread"])
        self.workspace = str(manifest["workspace"])
        self.graph = "flow" if manifest["graph"] == "flow" else "agent"
        self.has_files = bool(manifest["files"])
        is_valid = self.thread_id == self.thread_id.strip() and self.thread_id.isprintable()
        if not (is_valid and 0 < len(self.thread_id) <= LONGEST_THREAD_ID):
            raise ValueError("the id of the thread is invalid")

    def lines(self, name: str) -> Iterator[Any]:
        """Yield the JSON values of the lines of a member."""
        with self._archive.open(name) as member:
            yield from map(json.loads, member)

    def read_objects(self, identifiers: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the contents of files; those that are missing or damaged are skipped."""
        for identifier in [*identifiers]:  # the caller changes its collection in the meantime
            try:
                content = self._archive.read(f"{OBJECTS}{identifier}")
            except (KeyError, zipfile.BadZipFile):
                continue
            if blob_id(content) == identifier:
                yield identifier, content


@contextmanager
def open_thread_file(path: Path) -> Iterator[ThreadFile]:
    """Open an exported thread.

    Raises:
        UsageError: it is not an exported thread, is damaged, or cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            yield ThreadFile(path, archive)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from None
    except ManusError as error:
        if type(error) is not StorageError:
            raise
        raise refuse(path, _DAMAGED) from error
    except _UNUSABLE as error:
        raise refuse(path, _DAMAGED) from error


_DAMAGED = "it is damaged, or was not written by `manus export`"


async def import_thread(
    store: Store,
    file: ThreadFile,
    workspace: Path,
    thread_id: str | None = None,
    *,
    with_dotfiles: bool = False,
) -> Imported:
    """Store a thread from a file under its id, or another one.

    It gets no permissions: approvals, hosts that its user has named and options of its command line
    are dropped, and its messages count as untrusted text.

    Args:
        store: the store to import into.
        file: the exported thread.
        workspace: a folder to work in; it must be new or empty if the file contains files for it.
        thread_id: the new id; by default that of the file.
        with_dotfiles: also write files that other programs start by themselves.

    Raises:
        UsageError: the thread exists, or the workspace is not empty.
        StorageError: the store cannot be written.
    """
    target = Workspace(workspace)
    imported = Imported(thread_id or file.thread_id, target.root)
    if await store.aget_tuple(thread_config(imported.thread_id)) is not None:
        raise UsageError(
            f"The thread {imported.thread_id} already exists; choose another id with --thread."
        )
    if file.has_files:
        await asyncio.to_thread(_restore_files, file, target.root, imported, with_dotfiles)
    # after the files, because a workspace that was empty before the first run would be trusted
    await asyncio.to_thread(target.prepare)
    async with store.hold(imported.thread_id):
        try:
            for line in file.lines(CHECKPOINTS):
                await _store_checkpoint(store, file, imported, line)
            await asyncio.to_thread(_store_archive, file, target.records, imported.thread_id)
        except BaseException:
            await delete_thread(store, imported.thread_id)
            raise
    return imported


async def _store_checkpoint(
    store: Store, file: ThreadFile, imported: Imported, line: dict[str, Any]
) -> None:
    """Store a checkpoint with its writes."""
    checkpoint = copy_checkpoint(decode(line["checkpoint"]))
    values = checkpoint["channel_values"]
    checkpoint["channel_values"] = {n: _adapt(n, v, imported) for n, v in values.items()}
    place = {"thread_id": imported.thread_id, "checkpoint_ns": str(line["namespace"])}
    config: RunnableConfig = {"configurable": dict(place)}
    if line["parent"]:
        config["configurable"]["checkpoint_id"] = str(line["parent"])
    metadata = _select_metadata(file, line["metadata"], imported)
    versions = checkpoint["channel_versions"]
    stored = await store.aput(config, checkpoint, metadata, versions)
    writes: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, *value in line["writes"]:
        if channel == RESUME:  # an answer could approve a call
            continue
        write = _adapt(str(channel), decode(value), imported)
        writes.setdefault(str(task), []).append((str(channel), write))
    for number, (task, task_writes) in enumerate(writes.items()):
        # the path keeps the order of the tasks
        await store.aput_writes(stored, task_writes, task, f"{number:06}")


def _adapt(name: str, value: Any, imported: Imported) -> Any:
    """Return the value of a channel, or of the input of a call, without permissions.

    Approvals and the addresses that a user typed are dropped, messages are marked as untrusted,
    and a run gets a workspace and a profile of this machine.
    """
    if name in _REPLACED:
        return _REPLACED[name]
    if name == "args":  # whose names are those of a tool
        return value
    if isinstance(value, BaseMessage):
        marks = request_fields("", Exposure(untrusted=True, private=True))
        return value.model_copy(update={"additional_kwargs": {**value.additional_kwargs, **marks}})
    if isinstance(value, Send):
        return Send(value.node, _adapt("", value.arg, imported), timeout=value.timeout)
    if isinstance(value, Overwrite):
        return Overwrite(_adapt(name, value.value, imported))
    if isinstance(value, list):
        return [_adapt("", part, imported) for part in value]
    if not isinstance(value, dict):
        return value
    adapted = {key: _adapt(key, part, imported) for key, part in value.items()}
    if name == "run":
        profile = adapted.get("profile")
        known = {"profile": profile if profile in PROFILES else "manus"} if profile else {}
        adapted |= {"workspace": str(imported.workspace), **known}
    return adapted


def _select_metadata(
    file: ThreadFile, metadata: dict[str, Any], imported: Imported
) -> CheckpointMetadata:
    """Return the metadata of a checkpoint that an import may set."""
    names = {*METADATA, *LANGGRAPH_METADATA, *MARKS}
    selected = {name: metadata[name] for name in names & metadata.keys()}
    if "graph" in selected:
        profile = selected.get("profile")
        selected |= {
            "graph": file.graph,
            "workspace": str(imported.workspace),
            "profile": profile if profile in PROFILES else "manus",
            "request": str(selected.get("request", "")),
            "chosen": "{}",
        }
    return cast(CheckpointMetadata, selected)


def _store_archive(file: ThreadFile, records: Path, thread_id: str) -> None:
    """Store the messages that compaction removed from the history. Blocking."""
    rows: dict[str, list[Archived]] = {}
    for namespace, number, identifier, who, text in file.lines(ARCHIVE):
        row = Archived(int(number), str(identifier), str(who), str(text))
        rows.setdefault(str(namespace), []).append(row)
    for namespace, messages in rows.items():
        Archive(Archive.path_for(records, run_key(thread_id, namespace))).add(messages)


def _restore_files(file: ThreadFile, root: Path, imported: Imported, with_dotfiles: bool) -> None:
    """Write the files into a new or empty folder. Blocking."""
    entries = _read_entries(file)
    if not with_dotfiles:
        imported.started = [path for path in entries if starts_by_itself(path, frozenset({""}))]
    for path in imported.started:
        del entries[path]
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{root} is not empty; choose a new folder with --workspace.")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"Cannot create {root}: {error.strerror}.") from None
    links = [entry.object for entry in entries.values() if entry.kind == "link"]
    targets = dict(file.read_objects(links))
    for path, entry in list(entries.items()):
        if entry.kind == "link" and not _stays_inside(path, targets.get(entry.object)):
            imported.skipped.append(path)
            del entries[path]
    folders = {parent for path in entries for parent in list(path_and_parents(path))[1:]}
    plan = RestorePlan(targets=cast(dict[str, Entry | None], entries), folders=folders)
    restoration = Restoration(root, file, plan)
    restoration.run()
    imported.skipped += restoration.failed
    imported.files = sum(entry.kind != "folder" for entry in entries.values())
    imported.files -= len(restoration.failed)


def _read_entries(file: ThreadFile) -> dict[str, Entry]:
    """Return the entries of the workspace by path.

    Raises:
        ValueError: a path leads out of the workspace, or into a folder that is not recorded.
    """
    entries: dict[str, Entry] = {}
    for path, kind, mode, identifier in file.lines(FILES):
        parts = str(path).split("/")
        if _ESCAPING.intersection(parts) or "\0" in path or kind not in ("file", "link", "folder"):
            raise ValueError(f"the entry {path!r} is not one of a workspace")
        entries[path] = Entry(kind, stat.S_IMODE(int(mode)) & 0o777, str(identifier))
    return entries


def _stays_inside(path: str, target: bytes | None) -> bool:
    """Return whether a link's target is in the workspace, without following other links."""
    if not target or target.startswith(b"/"):
        return False
    depth = len(PurePosixPath(path).parts) - 1
    for part in target.split(b"/"):
        depth += {b"..": -1, b".": 0, b"": 0}.get(part, 1)
        if depth < 0:
            return False
    return True
