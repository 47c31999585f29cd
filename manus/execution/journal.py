"""The journal of tool calls, a write-ahead log that makes a resume idempotent.

A checkpoint records which nodes have finished. It cannot tell whether a tool call had taken effect
when the process died, so a claim is written before the effect and the result after it. On a resume,
a call with a result is replayed from the journal, and one with only a claim is never silently
executed again.

Keys are LangGraph task ids: stable when a crashed superstep runs again, and different in a fork,
which repeats effects on purpose. Each line has an HMAC with a key of the user, so that programs of
a run cannot forge one.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from langchain_core.messages import ToolMessage

from manus.config.files import data_folder
from manus.execution.safe_open import look_at, open_record, write_private
from manus.state.errors import StorageError

log = logging.getLogger("manus")

# Only the calls of the last superstep can be replayed; older ones are kept for diagnosis.
_MAX_ENTRIES = 200
_MOST_BYTES = 256 * 2**20
"""Maximum size of a journal; a larger one counts as damaged."""
_SAFE = re.compile(r"[^A-Za-z0-9._-]+")
_KEY_LENGTH = 32
_MAC_PREFIX = b', "mac": "'
_LINE_END = b'"}\n'


def load_key() -> bytes:
    """Return the user's key; create it once, in the data folder, apart from the records. Blocking.

    Raises:
        OSError: the key cannot be read or created.
    """
    with open_record(key_file()) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
        file.seek(0)
        key = file.read(_KEY_LENGTH)
        if len(key) < _KEY_LENGTH:
            file.truncate(0)
            key = os.urandom(_KEY_LENGTH)
            file.write(key)
    return key


def key_file() -> Path:
    """Return the path of the key."""
    return data_folder() / "records.key"


class Seal:
    """The HMACs of the lines of one record; a line of another record does not verify."""

    def __init__(self, key: bytes, name: str) -> None:
        self._mac = hmac.new(key, name.encode() + b"\0", hashlib.sha256)

    def seal(self, content: Mapping[str, Any]) -> bytes:
        """Return a line of JSON with the HMAC as its last member."""
        return self._add_mac(json.dumps(content).encode("ascii"))

    def verify(self, line: bytes) -> dict[str, Any] | None:
        """Return the content of a line; None if its HMAC is wrong."""
        text = line.rpartition(_MAC_PREFIX)[0] + b"}"
        is_ours = hmac.compare_digest(line, self._add_mac(text))
        return json.loads(text) if is_ours else None

    def _add_mac(self, text: bytes) -> bytes:
        mac = self._mac.copy()
        mac.update(text)
        return text[:-1] + _MAC_PREFIX + mac.hexdigest().encode() + _LINE_END


class JournalEntry(NamedTuple):
    """The latest state of a call: only begun, or done with its message."""

    state: Literal["begun", "done"]
    message: dict[str, Any] | None
    update: dict[str, Any] | None = None
    """The state update of the call besides its message."""
    packed: str | None = None
    """The state update and other results of the tool that JSON cannot represent."""


class Journal:
    """The journal of one thread, in memory and, given a path, in a file of JSON lines.

    Writes are unbuffered: they survive the death of the process, but not a power failure. A failed
    write raises `StorageError`.
    """

    def __init__(self, path: Path | None) -> None:
        self._entries: dict[str, JournalEntry] = {}
        self._file: BinaryIO | None = None
        self._path = path
        self._seal = Seal(b"", "")
        self.id = secrets.token_hex(8)
        """The id of the file, also recorded in the metadata of each checkpoint."""
        self.is_whole = True
        """Whether the file was complete when it was opened. Code that handles a loss resets it."""
        self.newest: str | None = None
        """The key of the call that ended last; None after a fork."""

    @staticmethod
    def path_for(records: Path, thread_id: str) -> Path:
        """Return the path of a thread's journal in the records of its workspace."""
        name = _SAFE.sub("_", thread_id)[:100]
        if name != thread_id:  # two threads must not share a file
            name += "-" + hashlib.sha256(thread_id.encode("utf-8", "replace")).hexdigest()[:12]
        return records / "journal" / f"{name}.jsonl"

    def open(self) -> None:
        """Read the file, and open it for appending. Blocking.

        Raises:
            StorageError: the file cannot be read or written.
        """
        if self._path is None or self._file is not None:
            return
        try:
            self._seal = Seal(load_key(), self._path.stem)
            file = open_record(self._path)
            too_large = os.fstat(file.fileno()).st_size > _MOST_BYTES
            file.seek(0)  # it was opened for appending
            content = b"" if too_large else file.read()
            lines = content.splitlines(keepends=True)
            accepted = [self._apply(self._seal.verify(line)) for line in lines]
            begins = content.startswith(self._seal.seal({"journal": self.id}))
            self.is_whole = begins and content.endswith(b"\n") and all(accepted)
            if not self.is_whole or len(lines) > 2 * _MAX_ENTRIES:
                file.close()
                self._rewrite(self._path)
                file = open_record(self._path)
            # unbuffered: a line that failed must not be written later
            self._file = file
        except OSError as error:
            raise self._unusable(error) from None

    def is_current(self) -> bool:
        """Return whether no other process has continued the thread and written since. Blocking."""
        if self._path is None or self._file is None:
            return True
        current = look_at(self._path)
        opened_status = os.fstat(self._file.fileno())
        is_same = current is not None and current.st_ino == opened_status.st_ino
        return is_same and opened_status.st_size == self._file.tell()

    def look_up(self, key: str) -> JournalEntry | None:
        """Return the latest state of a call, or None if it never began."""
        return self._entries.get(key)

    @property
    def has_unfinished(self) -> bool:
        """Return whether a call started and did not end."""
        return any(entry.state == "begun" for entry in self._entries.values())

    def answer_to(self, call_id: str) -> ToolMessage | None:
        """Return the tool message of a call id; None if the call has not ended."""
        for entry in reversed(self._entries.values()):
            if entry.message is not None and entry.message.get("tool_call_id") == call_id:
                return ToolMessage(**entry.message)
        return None

    def begin(self, key: str, tool: str) -> None:
        """Write the claim of a call, before its effect.

        Raises:
            StorageError: the claim cannot be written, so the call must not be executed.
        """
        self._write({"key": key, "state": "begun", "tool": tool})

    def finish(
        self,
        key: str,
        message: dict[str, Any],
        update: Mapping[str, Any] | None = None,
        packed: str | None = None,
    ) -> None:
        """Record the result of a call, after its effect; `update` if nothing is `packed`.

        Raises:
            StorageError: the result cannot be written; on a resume the effect counts as unknown.
        """
        record: dict[str, Any] = {"key": key, "state": "done", "message": message}
        record |= {"packed": packed} if packed else {"update": dict(update) if update else None}
        self._write(record)

    def release(self, key: str) -> None:
        """Release a claim: the call stopped before it had any effect."""
        self._write({"key": key, "state": "released"})

    def fork(self) -> None:
        """Record that the thread continues from an earlier checkpoint."""
        self._write({"state": "forked"})

    def close(self) -> None:
        """Close the file; nothing is recorded until it is opened again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, record: dict[str, Any]) -> None:
        """Write a record, then apply it."""
        if self._file is not None:
            line = self._seal.seal(record)
            old_size = os.fstat(self._file.fileno()).st_size
            try:
                if self._file.write(line) != len(line):
                    self._file.truncate(old_size)  # a partial line would count as damage
                    self._file.seek(old_size)
                    raise OSError(0, "only a part of a line was written")
            except OSError as error:
                raise self._unusable(error) from None
        self._apply(record)

    def _apply(self, record: Any) -> bool:
        """Apply a record; return whether it is valid."""
        match record:
            case {"key": key, "state": "begun" | "done" as state}:
                self._entries.pop(key, None)  # so that the latest entry is last
                values = (record.get(name) for name in ("message", "update", "packed"))
                self._entries[key] = JournalEntry(state, *values)
                self.newest = key if state == "done" else self.newest
                if len(self._entries) > 2 * _MAX_ENTRIES:
                    self._forget()
            case {"key": key, "state": "released"}:
                self._entries.pop(key, None)
            case {"state": "forked"}:
                self.newest = None
            case {"journal": name}:
                self.id = name
            case _:
                return False
        return True

    def _rewrite(self, path: Path) -> None:
        """Compact the file to the latest entry of each of the newest calls."""
        self._forget()
        # a journal without this first line has lost its beginning
        records: list[dict[str, Any]] = [{"journal": self.id}]
        records += [{"key": key, **entry._asdict()} for key, entry in self._entries.items()]
        if self.newest is None and self._entries:
            records.append({"state": "forked"})
        write_private(path, b"".join(map(self._seal.seal, records)))

    def _forget(self) -> None:
        """Keep the newest calls, and all calls that have not ended."""
        finished = [key for key, entry in self._entries.items() if entry.state == "done"]
        for key in finished[:-_MAX_ENTRIES]:
            del self._entries[key]

    def _unusable(self, error: OSError) -> StorageError:
        return StorageError(
            f"The journal {self._path}, or its key {key_file()}, cannot be written "
            f"({error.strerror}), and without it a call could be repeated by a resume; make room "
            "or mend its permissions, then resume."
        )
