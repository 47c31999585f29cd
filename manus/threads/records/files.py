"""Journals as files of JSON lines, for a store in a SQLite file, and for users without a store."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from manus.config.files import data_folder
from manus.state.errors import StorageError
from manus.threads.records.inbox import Inbox, SqliteInbox
from manus.threads.records.seal import KEY_LENGTH
from manus.workspace.safe_open import look_at, open_record, write_private

_MOST_BYTES = 256 * 2**20
"""Maximum size of a journal; a larger one counts as damaged."""
_SAFE = re.compile(r"[^A-Za-z0-9._-]+")


def key_file() -> Path:
    """Return the path of the user's key, for records outside a store."""
    return data_folder() / "records.key"


def load_key() -> bytes:
    """Return the user's key; create it once, in the data folder, apart from the records. Blocking.

    Raises:
        OSError: the key cannot be read or created.
    """
    with open_record(key_file()) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
        file.seek(0)
        key = file.read(KEY_LENGTH)
        if len(key) < KEY_LENGTH:
            file.truncate(0)
            key = os.urandom(KEY_LENGTH)
            file.write(key)
    return key


def record_name(key: str) -> str:
    """Return the name of the files of a run; two runs never share one."""
    name = _SAFE.sub("_", key)[:100]
    if name != key:
        name += "-" + hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12]
    return name


def run_key(thread_id: str, checkpoint_ns: str) -> str:
    """Return the key of a graph of a thread; a subgraph has its own records."""
    return f"{thread_id}:{checkpoint_ns}"


class FileLog:
    """A journal in a file. Writes are unbuffered: they survive the process, not a power failure."""

    def __init__(self, path: Path, read_key: Callable[[], bytes] = load_key) -> None:
        self.path = path
        self.name = path.stem
        self.location = str(path)
        self._read_key = read_key
        self._file: BinaryIO | None = None

    def load_key(self) -> bytes:
        """As in the protocol."""
        try:
            return self._read_key()
        except OSError as error:
            raise self._unusable(error) from None

    def exists(self) -> bool:
        """As in the protocol."""
        return look_at(self.path) is not None

    def size(self) -> int:
        """As in the protocol."""
        status = look_at(self.path)
        return 0 if status is None else status.st_size

    def open(self) -> bytes:
        """As in the protocol."""
        try:
            self._file = open_record(self.path)
            if os.fstat(self._file.fileno()).st_size > _MOST_BYTES:
                return b""
            self._file.seek(0)  # it was opened for appending
            return self._file.read()
        except OSError as error:
            raise self._unusable(error) from None

    def append(self, line: bytes) -> None:
        """As in the protocol."""
        if self._file is None:
            return
        old_size = os.fstat(self._file.fileno()).st_size
        try:
            if self._file.write(line) != len(line):
                self._file.truncate(old_size)  # a partial line would count as damage
                self._file.seek(old_size)
                raise OSError(0, "only part of a line was written")
        except OSError as error:
            raise self._unusable(error) from None

    async def aappend(self, line: bytes) -> None:
        """As in the protocol; takes a few microseconds, less than a thread switch."""
        self.append(line)

    def replace(self, content: bytes) -> None:
        """As in the protocol."""
        self.close()
        try:
            write_private(self.path, content)
            # unbuffered: a line that failed must not be written later
            self._file = open_record(self.path)
            self._file.seek(0, os.SEEK_END)
        except OSError as error:
            raise self._unusable(error) from None

    def is_current(self) -> bool:
        """As in the protocol."""
        if self._file is None:
            return True
        current = look_at(self.path)
        opened_status = os.fstat(self._file.fileno())
        is_same = current is not None and current.st_ino == opened_status.st_ino
        return is_same and opened_status.st_size == self._file.tell()

    def remove(self) -> None:
        """As in the protocol."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(
                f"Cannot delete {self.path} ({error.strerror}); delete it manually, then try again."
            ) from None

    @contextmanager
    def claim(self) -> Iterator[None]:
        """As in the protocol: lock a file next to the journal, which may be replaced."""
        try:
            file = open_record(self.path.with_suffix(".lock"))
        except OSError as error:
            raise self._unusable(error) from None
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
            yield

    def close(self) -> None:
        """As in the protocol."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _unusable(self, error: OSError) -> StorageError:
        return StorageError(
            f"The journal {self.path}, or its key {key_file()}, cannot be written "
            f"({error.strerror}), and without it a resume could repeat a call; free space or fix "
            "the permissions, then resume."
        )


def workspace_log(records: Path, key: str) -> FileLog:
    """Return the journal of a run without a store, in the records of its workspace."""
    return FileLog(records / "journal" / f"{record_name(key)}.jsonl")


class FileRecords:
    """The journals of a store in a folder next to its file."""

    def __init__(
        self,
        folder: Path,
        read_key: Callable[[], bytes] = load_key,
        inbox: Inbox | None = None,
    ) -> None:
        self.folder = folder
        self.inbox: Inbox = inbox or SqliteInbox()
        self._read_key = read_key

    def log(self, thread_id: str, checkpoint_ns: str) -> FileLog:
        """As in the protocol."""
        name = record_name(run_key(thread_id, checkpoint_ns))
        return FileLog(self.folder / f"{name}.jsonl", self._read_key)

    def join(self, thread_id: str) -> AbstractAsyncContextManager[None]:  # noqa: ARG002
        """Do nothing: a file lock ends with its process, so no thread has to be taken over."""
        return nullcontext()
