"""To whom a run may send what it made up itself.

Once it has read text from outside, it asks before it sends anything of its own making to a host
that the user has not named: an address that it has not read, text that it types, what a program
sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from manus.prompts import approval as prompts
from manus.state.agent import ToolTask
from manus.state.outside import addresses_in, as_seen
from manus.state.safety_settings import is_covered
from manus.state.settings import Settings
from manus.tools.web.egress import Entry, is_loopback, literal_address, parse_entry

HOST = "host"
"""What rules about hosts begin with: `host(example.org)`."""


class Reach:
    """What a session knows of it. What makes it ask less is lost with the process."""

    def __init__(self) -> None:
        self.outside = False
        """Whether text from outside has been read; else every host is free."""
        self.has_seen_page = False
        """Whether a page from outside was shown in a prompt."""
        self.named: tuple[str, ...] = ()
        """The hosts that the user has named, in the settings or in words."""
        self.wanted: dict[str, tuple[str, ...]] = {}
        """The hosts that were held back when a call was made before, by its digest."""
        self._entries: list[Entry] = []
        self._rules: tuple[str, ...] = ()
        self._used: set[str] = set()
        self._admitted: tuple[str, ...] = ()
        self._seen: set[str] = set()
        self._held: list[str] = []

    def begin(self, task: ToolTask, settings: Settings, *, free: bool) -> None:
        """Take over what holds for a call, and for those to come."""
        # what a server says of its tools stands in each request
        servers = any(s.enabled and not s.trust for s in settings.mcp.values())
        self.outside = not free and (servers or self.has_seen_page or task.get("outside", False))
        trusted = (*settings.egress.allow, *(s.host for s in settings.secrets.values()))
        self.named = (*trusted, *task.get("named", ()))
        self._entries = [replace(parse_entry(name), port=None) for name in self.named]
        self._rules = (*settings.approve.allow, *task.get("approved", ()))

    def read(self, text: str, of: str = "") -> None:
        """Take note of the addresses in a text from outside: whoever wrote them knows them.

        `of`: the page's address. A page of this machine, which the agent may have made, is none.
        """
        parts = urlsplit(of)
        if parts.scheme != "file" and not is_loopback(parts.hostname or ""):
            self._seen |= addresses_in(text)

    def has_read(self, address: str) -> bool:
        """Whether that very address stood in a text from outside."""
        return as_seen(address) in self._seen

    def is_new(self, host: str) -> bool:
        """Whether something is sent to a host for the first time, and nobody has named it."""
        if not self.outside:
            self._used.add(host)
        if host in self._used or host in self._admitted or is_loopback(host):
            return False
        address = literal_address(host)
        if any(entry.covers(host, 0, address) for entry in self._entries):
            return False
        return not is_covered(self._rules, HOST, [host])

    def hold(self, host: str) -> str:
        """Why a program may not connect to a host; empty if it may."""
        if not self.is_new(host):
            return ""
        self._held.append(host)
        return prompts.held(host)

    @contextmanager
    def admitting(self, hosts: Iterable[str], call: str) -> Iterator[None]:
        """Let programs connect to these hosts for the length of a block.

        What the call of that digest wanted in vain is kept in mind.
        """
        self._held, self._admitted = [], tuple(hosts)
        try:
            yield
        finally:
            if self._held:
                self.wanted[call] = tuple(dict.fromkeys([*self._admitted, *self._held]))
            self._held, self._admitted = [], ()
