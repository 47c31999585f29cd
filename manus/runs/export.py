"""Write a thread to a zip file.

It has `manifest.json`, `checkpoints.jsonl` (a checkpoint with its writes per line, the oldest
first), `archive.jsonl` (messages that compaction removed) and, on request, `files.jsonl` with the
entries of the workspace and `objects/ID` with their contents.

Values are MessagePack in LangGraph's form. Nothing in a file is a pickle, a function or a class
outside of the list of types that LangGraph considers safe.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from pydantic import BaseModel, SecretStr

from manus.config.settings import Settings
from manus.state.errors import StorageError, UsageError
from manus.threads.archive import Archive
from manus.threads.records.files import run_key
from manus.threads.records.store_version import STORE_VERSION
from manus.threads.serializer import CompactSerializer
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

FORMAT = 1
"""Version of the format; increase it when an earlier release could misread a file."""
MANIFEST = "manifest.json"
CHECKPOINTS = "checkpoints.jsonl"
ARCHIVE = "archive.jsonl"
FILES = "files.jsonl"
OBJECTS = "objects/"
METADATA = ("graph", "profile", "workspace", "request", "started", "stood", "chosen")
"""Metadata of a checkpoint that a run sets as plain text."""
LANGGRAPH_METADATA = ("source", "step", "parents", "counters_since_delta_snapshot")
MARKS = ("journal", "compacted", "continues")
"""Metadata of a checkpoint that the graph and the store set."""
_KINDS = frozenset({"null", "bytes", "msgpack"})
_SERIALIZER = CompactSerializer()

_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_MIN_LENGTH = 8
"""Minimum length in characters; a shorter value could be any word."""


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
            _write_rows(archive, MANIFEST, [manifest], secrets)
            _write_rows(archive, CHECKPOINTS, rows, secrets)
            _write_rows(archive, ARCHIVE, _read_archive(thread, checkpoints), secrets)
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
        "format": FORMAT,
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
    names = {*METADATA, *LANGGRAPH_METADATA, *MARKS}
    return {
        "namespace": _namespace(stored),
        "parent": (stored.parent_config or {}).get("configurable", {}).get("checkpoint_id"),
        "metadata": {name: metadata[name] for name in names & metadata.keys()},
        "checkpoint": encode(stored.checkpoint, secrets.mask),
        "writes": [
            [task, channel, *encode(value, secrets.mask)]
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
            archive.writestr(f"{OBJECTS}{identifier}", content)
    _write_rows(archive, FILES, ([path, *entry] for path, entry in entries.items()), secrets)
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


def encode(value: Any, mask: Callable[[bytes], bytes]) -> list[str]:
    """Return a value as the name of its encoding and text."""
    kind, data = _SERIALIZER.dumps_plain(value)
    return [kind, base64.b64encode(mask(data)).decode()]


def decode(stored: Any) -> Any:
    """Return the value that was passed to `encode`.

    Raises:
        ValueError: it has another form.
        StorageError: it cannot be deserialized.
    """
    kind, text = stored
    if kind not in _KINDS or not isinstance(text, str):
        raise ValueError(f"a value is encoded as {kind!r}")
    return _SERIALIZER.loads_typed((kind, base64.b64decode(text, validate=True)))


def refuse(path: object, reason: str) -> UsageError:
    """Build the error for a file that is not a usable export."""
    return UsageError(f"Cannot import {path}: {reason}.")


class SecretValues:
    """The values of the settings' keys, of `[secrets]`, and of variables with such names."""

    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        values = set(_read_settings(settings))
        values.update(value for name, value in environment.items() if _NAME.search(name))
        values.update(environment.get(secret.env, "") for secret in settings.secrets.values())
        forms = {form for value in values if len(value) >= _MIN_LENGTH for form in _forms(value)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first)) or rb"(?!)")

    def mask(self, data: bytes) -> bytes:
        """Return serialized values with each secret replaced by as many asterisks.

        The length is kept because MessagePack stores it in front of a text.
        """
        return self._pattern.sub(lambda match: b"*" * len(match[0]), data)

    def is_in(self, content: bytes) -> bool:
        """Return whether a file contains a secret."""
        return self._pattern.search(content) is not None


def _forms(value: str) -> set[bytes]:
    """Return a value as it appears in a text, in a URL, in JSON and in JSON inside of JSON."""
    forms = {value}
    for _ in range(2):
        forms |= {json.dumps(form)[1:-1] for form in forms}
        forms |= {json.dumps(form, ensure_ascii=False)[1:-1] for form in forms}
    encoded = {form.encode("utf-8", "surrogateescape") for form in forms}
    plain = value.encode("utf-8", "surrogateescape")
    return encoded | {quote(plain, safe="").encode(), quote_plus(plain).encode()}


def _read_settings(part: Any) -> Iterator[str]:
    if isinstance(part, SecretStr):
        yield part.get_secret_value()
    elif isinstance(part, BaseModel):
        yield from _read_settings([getattr(part, name) for name in type(part).model_fields])
    elif isinstance(part, Mapping):
        yield from _read_settings([*part.values()])
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _read_settings(item)
