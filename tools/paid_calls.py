"""The model calls of a thread's tasks: those that were paid for, and those under way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_KEEP = 200
"""Tasks; only those of the last superstep can be asked for again."""

Line = dict[str, Any]


class PaidCalls:
    """What the journal knows of model calls; each record is of one task's call.

    A call that is about to be made is `asked` under a name, as what it is if nothing more is known
    of it; then it is `spent`, as what it was, or `unasked`, if nobody will bill it.
    """

    def __init__(self) -> None:
        self._spent: dict[str, list[Line]] = {}
        self._asked: dict[tuple[str, str], Line] = {}

    def take(self, record: Mapping[str, Any]) -> None:
        """One record more."""
        key, name, line = record["key"], record.get("name") or "", record.get("line") or {}
        if record["state"] == "asked":
            self._asked[key, name] = line
            return
        self._asked.pop((key, name), None)
        if record["state"] == "spent":
            self._add(key, line)

    def give_up(self) -> None:
        """Who had asked is dead: what was under way may be billed, and so it counts."""
        for (key, _), line in self._asked.items():
            self._add(key, line)
        self._asked.clear()

    def of(self, key: str) -> list[Line]:
        """The calls of a task that were paid for."""
        return list(self._spent.get(key, ()))

    def records(self) -> Iterator[dict[str, Any]]:
        """All that is known, the newest tasks last."""
        for key, lines in list(self._spent.items()):
            yield from ({"key": key, "state": "spent", "line": line} for line in lines)
        for (key, name), line in list(self._asked.items()):
            yield {"key": key, "state": "asked", "name": name, "line": line}

    def forget(self) -> None:
        """Keep the newest tasks."""
        for key in list(self._spent)[:-_KEEP]:
            del self._spent[key]

    def _add(self, key: str, line: Line) -> None:
        self._spent.setdefault(key, []).append(line)
        if len(self._spent) > 2 * _KEEP:
            self.forget()
