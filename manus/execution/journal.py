"""What was begun and what came of it, written around each effect.

A checkpoint tells which nodes have finished. It cannot tell whether a tool call that was under
way when the process died had taken effect; so a claim is written before the effect and the result
after it. On a resume a call with a result is answered from here, and one with a claim alone is
never silently executed again.

Keys are LangGraph task ids: the same when a crashed superstep runs again, others in a fork, which
repeats effects on purpose. Each line carries an HMAC under a key of the user's, so that nobody else
can write one.
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
from manus.execution.safe_open import look_at, open_own, write_private
from manus.state.errors import StorageError

log = logging.getLogger("manus")

# Only the calls of the last superstep can be asked for again; the rest is kept as a trail.
_KEEP = 200
_MOST_BYTES = 256 * 2**20
"""Size of the largest journal that is read; a larger one counts as damaged."""
_SAFE = re.compile(r"[^A-Za-z0-9._-]+")
_KEY_LENGTH = 32
_BETWEEN = b', "mac": "'
_END = b'"}\n'


def own_key() -> bytes:
    """The user's key, made once. It lies beside the threads, apart from the records. Blocking.

    Raises:
        OSError: it cannot be read or made.
    """
    with open_own(key_file()) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # given back when the file is closed
        file.seek(0)
        key = file.read(_KEY_LENGTH)
        if len(key) < _KEY_LENGTH:
            file.truncate(0)
            key = os.urandom(_KEY_LENGTH)
            file.write(key)
    return key


def key_file() -> Path:
    """Where the key lies."""
    return data_folder() / "records.key"


class Seal:
    """Seals the lines of one record. A line of another record does not fit."""

    def __init__(self, key: bytes, name: str) -> None:
        self._mac = hmac.new(key, name.encode() + b"\0", hashlib.sha256)

    def line(self, content: Mapping[str, Any]) -> bytes:
        """A line of JSON, the seal its last member."""
        return self._sealed(json.dumps(content).encode("ascii"))

    def opened(self, line: bytes) -> dict[str, Any] | None:
        """What a line holds; None if the seal does not fit."""
        text = line.rpartition(_BETWEEN)[0] + b"}"
        is_ours = hmac.compare_digest(line, self._sealed(text))
        return json.loads(text) if is_ours else None

    def _sealed(self, text: bytes) -> bytes:
        mac = self._mac.copy()
        mac.update(text)
        return text[:-1] + _BETWEEN + mac.hexdigest().encode() + _END


class Entry(NamedTuple):
    """The last word on a call: only begun, or done with the message that came of it."""

    state: Literal["begun", "done"]
    message: dict[str, Any] | None
    update: dict[str, Any] | None = None
    """What the call changed in the state beside its message."""
    packed: str | None = None
    """The same, and what else its tool gave back, where it is no JSON."""


class Journal:
    """The effects of one thread, in memory and, given a path, in a file of JSON lines.

    Writes are handed to the operating system at once: they survive the death of the process, not
    the loss of power. What cannot be written is a `StorageError`.
    """

    def __init__(self, path: Path | None) -> None:
        self._entries: dict[str, Entry] = {}
        self._file: BinaryIO | None = None
        self._path = path
        self._seal = Seal(b"", "")
        self.id = secrets.token_hex(8)
        """The same as long as its file is there: it is in the metadata of each checkpoint."""
        self.is_whole = True
        """Whether all that was written was there when it was opened. Who takes note of a loss sets
        it back."""
        self.newest: str | None = None
        """The call that ended last; None after a fork, which leaves it behind."""

    @staticmethod
    def path_for(records: Path, thread_id: str) -> Path:
        """Where the journal of a thread is kept, below the records of its workspace."""
        name = _SAFE.sub("_", thread_id)[:100]
        if name != thread_id:  # two threads must not meet in one file
            name += "-" + hashlib.sha256(thread_id.encode("utf-8", "replace")).hexdigest()[:12]
        return records / "journal" / f"{name}.jsonl"

    def open(self) -> None:
        """Read what is there and go on behind it. Blocking.

        Raises:
            StorageError: the file cannot be read or written.
        """
        if self._path is None or self._file is not None:
            return
        try:
            self._seal = Seal(own_key(), self._path.stem)
            file = open_own(self._path)
            too_large = os.fstat(file.fileno()).st_size > _MOST_BYTES
            file.seek(0)  # it was opened to be appended to
            held = b"" if too_large else file.read()
            lines = held.splitlines(keepends=True)
            known = [self._take(self._seal.opened(line)) for line in lines]
            begins = held.startswith(self._seal.line({"journal": self.id}))
            self.is_whole = begins and held.endswith(b"\n") and all(known)
            if not self.is_whole or len(lines) > 2 * _KEEP:
                file.close()
                self._write_anew(self._path)
                file = open_own(self._path)
            # unbuffered: a line that was refused must not stay behind and be written later
            self._file = file
        except OSError as error:
            raise self._unusable(error) from None

    def is_current(self) -> bool:
        """Whether nobody else has written since: another process may have gone on with the thread.

        Blocking.
        """
        if self._path is None or self._file is None:
            return True
        there, ours = look_at(self._path), os.fstat(self._file.fileno())
        is_same = there is not None and there.st_ino == ours.st_ino
        return is_same and ours.st_size == self._file.tell()

    def look_up(self, key: str) -> Entry | None:
        """The last word on a call, or None if it never began."""
        return self._entries.get(key)

    def answer_to(self, call_id: str) -> ToolMessage | None:
        """The message that came of a call, by the call's id; None if it had not ended."""
        for entry in reversed(self._entries.values()):
            if entry.message is not None and entry.message.get("tool_call_id") == call_id:
                return ToolMessage(**entry.message)
        return None

    def begin(self, key: str, tool: str) -> None:
        """Claim a call, before its effect.

        Raises:
            StorageError: the claim cannot be written, so the effect must not begin.
        """
        self._write({"key": key, "state": "begun", "tool": tool})

    def finish(
        self,
        key: str,
        message: dict[str, Any],
        update: Mapping[str, Any] | None = None,
        packed: str | None = None,
    ) -> None:
        """Record what came of a call, after its effect; `update` if nothing is `packed`.

        Raises:
            StorageError: it cannot be written; on a resume the effect counts as unknown.
        """
        record: dict[str, Any] = {"key": key, "state": "done", "message": message}
        record |= {"packed": packed} if packed else {"update": dict(update) if update else None}
        self._write(record)

    def release(self, key: str) -> None:
        """Take a claim back: the call stopped before it had any effect."""
        self._write({"key": key, "state": "released"})

    def fork(self) -> None:
        """Note that the thread goes on from an earlier state: what came after it is left behind."""
        self._write({"state": "forked"})

    def close(self) -> None:
        """Close the file. Nothing is recorded any more until it is opened again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, record: dict[str, Any]) -> None:
        """Write a record, then take it in."""
        if self._file is not None:
            line = self._seal.line(record)
            end = os.fstat(self._file.fileno()).st_size
            try:
                if self._file.write(line) != len(line):
                    self._file.truncate(end)  # a part of a line would look like damage
                    self._file.seek(end)
                    raise OSError(0, "only a part of a line was written")
            except OSError as error:
                raise self._unusable(error) from None
        self._take(record)

    def _take(self, record: Any) -> bool:
        """Take in what a line says; whether it is one of ours."""
        match record:
            case {"key": key, "state": "begun" | "done" as state}:
                self._entries.pop(key, None)  # so that the newest word stands last
                values = (record.get(name) for name in ("message", "update", "packed"))
                self._entries[key] = Entry(state, *values)
                self.newest = key if state == "done" else self.newest
                if len(self._entries) > 2 * _KEEP:
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

    def _write_anew(self, path: Path) -> None:
        """Write the last word on each of the newest calls in place of all that was said."""
        self._forget()
        # a journal that lacks its first line has lost its beginning
        records: list[dict[str, Any]] = [{"journal": self.id}]
        records += [{"key": key, **entry._asdict()} for key, entry in self._entries.items()]
        if self.newest is None and self._entries:
            records.append({"state": "forked"})
        write_private(path, b"".join(map(self._seal.line, records)))

    def _forget(self) -> None:
        """Keep the newest calls, and each that has not ended, however long ago it began."""
        for key in [key for key, e in self._entries.items() if e.state == "done"][:-_KEEP]:
            del self._entries[key]

    def _unusable(self, error: OSError) -> StorageError:
        return StorageError(
            f"The journal {self._path}, or its key {key_file()}, cannot be written "
            f"({error.strerror}), and without it a call could be repeated by a resume; make room "
            "or mend its permissions, then resume."
        )
