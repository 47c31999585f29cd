"""The journal of tool calls, a write-ahead log that makes a resume idempotent.

A checkpoint records which nodes have finished, but not whether a tool call had taken effect when
the process died. So a claim is written before the effect, and the result after it. On a resume, a
call with a result is replayed from the journal, and one with only a claim is never silently
executed again.

Keys are LangGraph task ids, which are stable when a crashed superstep runs again, and different in
a fork, which repeats effects on purpose. Each line has an HMAC with a key of the store, so that
programs of a run cannot forge one. A `JournalLog` stores the lines.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from langchain_core.messages import ToolMessage

from manus.threads.records.base import JournalLog
from manus.threads.records.seal import Seal

log = logging.getLogger("manus")

UNKNOWN_EFFECT = (
    "This call had started when the process stopped, so it may have taken effect, partly or "
    "completely; it was not executed again. Check the current state before you decide to repeat it."
)
# Only calls of the last superstep can be replayed; older ones are kept for diagnosis.
_MAX_ENTRIES = 200


class Claim(NamedTuple):
    """The record of a call that is written before its effect."""

    tool: str
    snapshot: str = ""
    """The snapshot of the workspace's files before the call; empty if there is none."""
    acts_outside: bool = False
    """Whether it may have effects outside the workspace."""
    scope: str = ""
    """The name under which the calls of an agent that it runs are recorded."""
    call_id: str = ""
    """The model's id of the call."""


class JournalEntry(NamedTuple):
    """The latest state of a call: only started, or finished with its message."""

    state: Literal["begun", "done"]
    message: dict[str, Any] | None = None
    update: Mapping[str, Any] | None = None
    """The state update of the call besides its message."""
    packed: str | None = None
    """The state update and other results of the tool that JSON cannot represent."""
    claim: Claim = Claim("")
    """The claim of a call that has started."""

    def as_record(self, key: str) -> dict[str, Any]:
        """Return the record that is read as this entry, without empty values."""
        if self.state == "begun":
            values: dict[str, Any] = self.claim._asdict()
        else:
            values = {"message": self.message, "update": self.update, "packed": self.packed}
        return {"key": key, "state": self.state, **{k: v for k, v in values.items() if v}}


class Journal:
    """The journal of one thread, in memory and, given a log, in lines that survive the process.

    Each write appends a line of JSON; a failed write raises `StorageError`.
    """

    def __init__(self, lines: JournalLog | None = None) -> None:
        self._entries: dict[str, JournalEntry] = {}
        self._lines = lines
        self._is_open = False
        self._seal = Seal(b"", "")
        self.id = secrets.token_hex(8)
        """The id of the journal, also recorded in the metadata of each checkpoint."""
        self.is_whole = True
        """Whether the lines were complete when they were read; reset by code that handles a
        loss."""
        self.newest: str | None = None
        """The key of the call that finished last; None after a fork."""
        self._ended: dict[str, None] = {}
        """Keys of the calls that have ended since the last fork, in that order."""
        self.unfinished: dict[str, Claim] = {}
        """Claims of the calls that have begun since the last fork, and have not ended, by key."""

    def open(self) -> None:
        """Read the lines, and prepare for appending. Blocking.

        Raises:
            StorageError: they cannot be read or written.
        """
        if self._lines is None or self._is_open:
            return
        content = self._lines.open()
        try:
            self._read(self._lines, content)
        except BaseException:
            self._lines.close()
            raise
        self._is_open = True

    def _read(self, lines: JournalLog, content: bytes) -> None:
        self._seal = Seal(lines.load_key(), lines.name)
        count = self._apply_all(content, self._seal)
        if not self.is_whole or count > 2 * _MAX_ENTRIES:
            self._rewrite(lines)

    def _apply_all(self, content: bytes, seal: Seal) -> int:
        """Apply stored lines, set whether they are complete, and return their number."""
        lines = content.splitlines(keepends=True)
        accepted = [self._apply(seal.verify(line)) for line in lines]
        begins = content.startswith(seal.seal({"journal": self.id}))
        self.is_whole = begins and content.endswith(b"\n") and all(accepted)
        return len(lines)

    def is_current(self) -> bool:
        """Return whether no other process has continued the thread and written since. Blocking."""
        return self._lines is None or not self._is_open or self._lines.is_current()

    def look_up(self, key: str) -> JournalEntry | None:
        """Return the latest state of a call, or None if it never started."""
        return self._entries.get(key)

    @property
    def entries(self) -> Mapping[str, JournalEntry]:
        """Return the latest state of each call by key, the oldest first."""
        return self._entries

    def answer_to(self, call_id: str) -> ToolMessage | None:
        """Return the tool message for a call id; None if the call has not finished."""
        for entry in reversed(self._entries.values()):
            if entry.message is not None and entry.message.get("tool_call_id") == call_id:
                return ToolMessage(**entry.message)
        return None

    def list_ended(self) -> list[str]:
        """Return the keys of the newest calls that have ended since the last fork."""
        return [*self._ended]

    def find_result(self, key: str) -> ToolMessage | None:
        """Return the result of a call, with its key as id; None if the call has not ended."""
        entry = self._entries.get(key)
        if entry is None or entry.message is None:
            return None
        return ToolMessage(**{**entry.message, "id": key})

    def begin(self, key: str, claim: Claim) -> None:
        """Write the claim of a call, before its effect. Blocking.

        Raises:
            StorageError: the claim cannot be written, so the call must not be executed.
        """
        self._record(key, JournalEntry("begun", claim=claim))

    async def abegin(self, key: str, claim: Claim) -> None:
        """Write the claim of a call, as `begin`."""
        await self._arecord(key, JournalEntry("begun", claim=claim))

    def finish(
        self,
        key: str,
        message: dict[str, Any],
        update: Mapping[str, Any] | None = None,
        packed: str | None = None,
    ) -> None:
        """Record the result of a call, after its effect. Blocking.

        What is `packed` includes the `update`.

        Raises:
            StorageError: the result cannot be written; on a resume the effect counts as unknown.
        """
        self._record(key, JournalEntry("done", message, None if packed else update, packed))

    async def afinish(
        self,
        key: str,
        message: dict[str, Any],
        update: Mapping[str, Any] | None = None,
        packed: str | None = None,
    ) -> None:
        """Record the result of a call, as `finish`."""
        entry = JournalEntry("done", message, None if packed else update, packed)
        await self._arecord(key, entry)

    def finish_before(self, key: str, entry: JournalEntry, later: Sequence[str]) -> None:
        """Record a result as older than those of other calls, in one write. Blocking.

        Raises:
            StorageError: it cannot be written.
        """
        entries = {key: entry}
        entries |= {name: self._entries[name] for name in later}
        if self._lines is not None and self._is_open:
            records = [entry.as_record(name) for name, entry in entries.items()]
            self._lines.append(b"".join(map(self._seal.seal, records)))
        for name, entry in entries.items():
            self._enter(name, entry)

    def release(self, key: str) -> None:
        """Release a claim: the call stopped before it had any effect. Blocking."""
        self._write({"key": key, "state": "released"})

    async def arelease(self, key: str) -> None:
        """Release a claim, like `release`."""
        await self._awrite({"key": key, "state": "released"})

    def fork(self) -> None:
        """Record that the thread continues from an earlier checkpoint. Blocking."""
        self._write({"state": "forked"})

    async def afork(self) -> None:
        """Record that the thread continues from an earlier checkpoint, like `fork`."""
        await self._awrite({"state": "forked"})

    @contextmanager
    def claiming(self) -> Iterator[None]:
        """Exclude other processes while the block looks up a call and claims it. Blocking.

        This is for agents whose thread has no other lock. The lines are read again if another
        process has written.
        """
        if self._lines is None:
            yield
            return
        with self._lines.claim():
            if not self.is_current():
                self.close()
                self._entries.clear()
                self.unfinished.clear()
            self.open()
            yield

    def close(self) -> None:
        """Close the lines. Nothing is recorded until they are opened again."""
        if self._lines is not None and self._is_open:
            self._lines.close()
        self._is_open = False

    def _record(self, key: str, entry: JournalEntry) -> None:
        """Write an entry, then keep it."""
        if self._lines is not None and self._is_open:
            self._lines.append(self._seal.seal(entry.as_record(key)))
        self._enter(key, entry)

    async def _arecord(self, key: str, entry: JournalEntry) -> None:
        if self._lines is not None and self._is_open:
            await self._lines.aappend(self._seal.seal(entry.as_record(key)))
        self._enter(key, entry)

    def _write(self, record: dict[str, Any]) -> None:
        """Write another record, then apply it."""
        if self._lines is not None and self._is_open:
            self._lines.append(self._seal.seal(record))
        self._apply(record)

    async def _awrite(self, record: dict[str, Any]) -> None:
        if self._lines is not None and self._is_open:
            await self._lines.aappend(self._seal.seal(record))
        self._apply(record)

    def _apply(self, record: Any) -> bool:
        """Apply a record; return whether it is valid."""
        match record:
            case {"key": key, "state": "begun" | "done"}:
                self._enter(key, _read_entry(record))
            case {"key": key, "state": "released"}:
                self._entries.pop(key, None)
                self.unfinished.pop(key, None)
            case {"state": "forked"}:
                self.newest = None
                self._ended.clear()
                self.unfinished.clear()
            case {"journal": name}:
                self.id = name
            case _:
                return False
        return True

    def _enter(self, key: str, entry: JournalEntry) -> None:
        """Keep an entry as the latest one of its call."""
        self._entries.pop(key, None)  # so that the latest entry is last
        self._entries[key] = entry
        self.unfinished.pop(key, None)
        if entry.state == "begun":
            self.unfinished[key] = entry.claim
        else:
            self.newest = key
            self._ended.pop(key, None)
            self._ended[key] = None
        if len(self._entries) > 2 * _MAX_ENTRIES:
            self._forget()

    def _rewrite(self, lines: JournalLog) -> None:
        """Compact the lines to the latest entry of each of the newest calls."""
        self._forget()
        # a journal without this first line has been truncated at its start
        records: list[dict[str, Any]] = [{"journal": self.id}]
        records += [entry.as_record(key) for key, entry in self._entries.items()]
        if self.newest is None and self._entries:
            records.append({"state": "forked"})
            records += [self._entries[key].as_record(key) for key in self.unfinished]
        lines.replace(b"".join(map(self._seal.seal, records)))

    def _forget(self) -> None:
        """Drop all calls except the newest ones and those that have not finished."""
        finished = [key for key, entry in self._entries.items() if entry.state == "done"]
        for key in finished[:-_MAX_ENTRIES]:
            del self._entries[key]
            self._ended.pop(key, None)


def _read_entry(record: dict[str, Any]) -> JournalEntry:
    """Return the entry of a record; an earlier version wrote claims without their facts."""
    claim = Claim(
        str(record.get("tool") or ""),
        str(record.get("snapshot") or ""),
        bool(record.get("acts_outside")),
        str(record.get("scope") or ""),
        str(record.get("call_id") or ""),
    )
    values = {name: record.get(name) for name in ("message", "update", "packed")}
    return JournalEntry(record["state"], **values, claim=claim)
