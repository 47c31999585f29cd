"""The egress guard of a run: protection against exfiltration by prompt injection.

Once a run is tainted (it has read untrusted text), it needs approval to send data to a host that
the user has not named: through an address that it has not read, text typed into a page, or a
connection of a program. One answer is valid for a host and a kind of access until the run ends.
"""

from __future__ import annotations

import asyncio
import glob
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from langchain_core.messages import AnyMessage

from manus.config.run_settings import RunSettings
from manus.config.safety_settings import is_covered
from manus.execution.network.egress import RuleEntry, is_loopback, parse_entry, parse_ip
from manus.execution.network.registries import find_registry_hosts
from manus.execution.workspace_names import is_workspace_name
from manus.prompts import approval as prompts
from manus.state.agent import ToolTask
from manus.state.taint import addresses_in, with_path
from manus.state.user_words import all_own_words, is_phrase_of

HOST = "host"
"""The name of rules about hosts for any kind of access: `host(example.org)`."""

AccessKind = Literal["open", "type", "program"]
"""The ways in which a run sends data: the browser opens an address or types text into a page, or a
program connects to a host."""

_PROGRAM_RULE = f"{HOST}-program("
"""The prefix of rules that approve connections of programs."""
_SEARCH_FIELDS = frozenset(
    {"q", "query", "s", "search", "k", "keyword", "keywords", "text", "term"}
)


class Access(NamedTuple):
    """One kind of access to one host."""

    kind: AccessKind
    host: str

    @property
    def rule(self) -> str:
        """Return the approval rule that covers exactly this access."""
        return f"{HOST}-{self.kind}({glob.escape(self.host)})"

    def is_covered_by(self, rules: Iterable[str]) -> bool:
        """Return whether rules about the host, or about this kind of access to it, cover it."""
        rules = list(rules)
        names = (HOST, f"{HOST}-{self.kind}")
        return any(is_covered(rules, name, [self.host]) for name in names)


@dataclass(slots=True, eq=False)
class RunningCall:
    """A call that is being executed."""

    admitted: frozenset[Access]
    """Accesses that the user has approved for it."""
    blocked: list[Access] = field(default_factory=list)
    """Accesses of its programs that were blocked."""
    has_fetched: bool = False
    """Whether a program received a response from a host."""


class EgressGuard:
    """The taint of a run, the hosts its user has named, and the addresses it has read."""

    def __init__(
        self,
        root: Path,
        *,
        trusts_folder: bool = True,
        running_calls: list[RunningCall] | None = None,
    ) -> None:
        """Create the guard of a workspace; files of an untrusted folder are untrusted text.

        `running_calls` is the session's list of the calls that are being executed.
        """
        self.named_hosts: tuple[str, ...] = ()
        """Hosts that the user has named, in the settings or in messages."""
        self.words = ""
        """The user's own words."""
        self.asking: dict[Access, str] = {}
        """Accesses that the user is being asked about, with the key of the asking call."""
        self.shares_network = False
        """Whether programs share the machine's network, restricted by Landlock: the first
        connection of a program in a tainted run needs approval, whatever its host."""
        self._root = root
        self.why_tainted = "" if trusts_folder else prompts.UNTRUSTED_FOLDER
        """The reason for the taint, for the question; empty if there is no taint."""
        self.is_tainted = bool(self.why_tainted)
        """Whether the run has read untrusted text and approval is required."""
        self.fetched_from = ""
        """The host from which a program has received the first response."""
        self._is_free = False
        self._asks = True
        self._entries: list[RuleEntry] = []
        self._rules: tuple[str, ...] = ()
        self._refused: tuple[str, ...] = ()
        self._host_names: dict[str, bool] = {}
        self._used_hosts: set[str] = set()
        self._calls = running_calls if running_calls is not None else []
        self._addresses_read: set[str] = set()
        self._blocked_by_call: dict[str, tuple[Access, ...]] = {}

    def taint(self, reason: str) -> None:
        """Mark the run as tainted; keep the first reason."""
        self.why_tainted = self.why_tainted or reason
        self.is_tainted = not self._is_free

    def read_user_words(self, messages: Iterable[AnyMessage]) -> None:
        """Read the user's own words from a message history."""
        self.words = all_own_words(messages)

    async def begin(
        self, task: ToolTask, settings: RunSettings, *, is_free: bool, asks: bool = True
    ) -> None:
        """Apply the settings and rules for this call and later ones.

        `is_free`: every host is allowed. `asks`: the user can be asked for approval.
        """
        self._is_free = is_free
        self.is_tainted = bool(self.why_tainted) and not is_free
        self._asks = asks
        # descriptions of a server's tools are part of each request
        if any(server.enabled and not server.trust for server in settings.mcp.values()):
            self.taint(prompts.SERVER_TEXT)
        if task.get("outside"):
            self.taint(prompts.UNTRUSTED_TEXT)
        self.taint_by_fetch()
        trusted = (*settings.egress.allow, *(s.host for s in settings.secrets.values()))
        hosts = [name for name in task.get("mentioned", ()) if await self._is_host(name)]
        self.named_hosts = (*trusted, *task.get("named", ()), *hosts)
        self._entries = [replace(parse_entry(name), port=None) for name in self.named_hosts]
        self._rules = (*settings.approve.allow, *task.get("approved", ()))
        self._refused = tuple(task.get("refused", ()))

    async def _is_host(self, name: str) -> bool:
        """Return whether a name that the user wrote is a host, not a name in the workspace."""
        if not self.is_tainted:
            return False  # irrelevant until the run is tainted
        if name not in self._host_names:
            self._host_names[name] = not await asyncio.to_thread(
                is_workspace_name, self._root, name
            )
        return self._host_names[name]

    def read(self, text: str, page_address: str = "") -> None:
        """Record the addresses in an untrusted text, whose author already knows them.

        Pages of this machine are skipped, since the agent may have created them.
        """
        parts = urlsplit(page_address)
        if parts.scheme != "file" and not is_loopback(parts.hostname or ""):
            self._addresses_read |= addresses_in(text)

    def has_read(self, address: str) -> bool:
        """Return whether an untrusted text contained exactly this address."""
        return bool(self._forms(address) & self._addresses_read)

    def is_known_search(self, address: str) -> bool:
        """Return whether an address is one that was read plus a search for the user's own words.

        An example is `https://shop.example/search?q=kite`, if the user wrote "kite".
        """
        parts = urlsplit(address)
        page = address.partition("?")[0]
        fields = parse_qsl(parts.query, keep_blank_values=True, separator="&")
        if not fields or parts.fragment or not self.has_read(page):
            return False
        names = {name for name, _ in fields}
        return names <= _SEARCH_FIELDS and all(
            is_phrase_of(self.words, value) for _, value in fields
        )

    @staticmethod
    def _forms(address: str) -> set[str]:
        address = address.strip()
        addresses = [address] if "://" in address else [f"http://{address}", f"https://{address}"]
        return {with_path(form) for form in addresses}

    def needs_approval(self, access: Access) -> bool:
        """Return whether an access to a host needs approval."""
        host = access.host
        if self.is_first_use(access):
            return True
        if not self.is_tainted:
            self._used_hosts.add(host)
        if host in self._used_hosts or self.is_named(host):
            return False
        if any(access in call.admitted for call in self._calls):
            return False
        return not access.is_covered_by(self._rules)

    def is_first_use(self, access: Access) -> bool:
        """Return whether this is the first, unapproved use of the network by a program."""
        if not self.shares_network or access.kind != "program" or not self.is_tainted:
            return False
        if is_loopback(access.host) or access.is_covered_by(self._rules):
            return False
        admitted = [access_admitted for call in self._calls for access_admitted in call.admitted]
        is_approved = any(access_admitted.kind == "program" for access_admitted in admitted)
        return not is_approved and not any(rule.startswith(_PROGRAM_RULE) for rule in self._rules)

    def is_named(self, host: str) -> bool:
        """Return whether the user has named a host or its parent domain; loopback always counts."""
        address = parse_ip(host)
        return is_loopback(host) or any(e.covers(host, 0, address) for e in self._entries)

    def was_refused(self, access: Access) -> bool:
        """Return whether an access was refused earlier in the run."""
        return access.is_covered_by(self._refused) or self.was_network_refused(access)

    def was_network_refused(self, access: Access) -> bool:
        """Return whether the user has denied programs the machine's network altogether."""
        is_refused = any(rule.startswith(_PROGRAM_RULE) for rule in self._refused)
        return is_refused and self.is_first_use(access)

    async def hold(self, host: str) -> str:
        """Return why a program must not connect to a host; empty if it may."""
        access = Access("program", host)
        if not self.needs_approval(access):
            return ""
        if not self.is_first_use(access) and host in await find_registry_hosts(self._root):
            return ""
        for call in self._calls:
            call.blocked.append(access)
        if self.was_network_refused(access):
            return prompts.NETWORK_REFUSED
        if self.was_refused(access) or not self._asks:
            return prompts.held_for_good(host)
        if self.is_first_use(access):
            return prompts.held_at_first_use(host, self.why_tainted)
        return prompts.held(host, self.why_tainted)

    def note_response(self, host: str) -> None:
        """Record that a program received a response, which its output may contain.

        The model reads the output after the call has ended, and from then on the run is tainted.
        Until then the program may continue: `curl -L` follows a redirect.
        """
        if is_loopback(host):
            return
        self.fetched_from = self.fetched_from or host
        for call in self._calls:
            call.has_fetched = True

    def accesses_held(self, call: str, arguments: str) -> tuple[Access, ...]:
        """Return the accesses that were blocked in an earlier run of the call with this digest.

        Blocked accesses of other calls are included if the arguments contain their host.
        """
        blocked = list(self._blocked_by_call.get(call, ()))
        for accesses in self._blocked_by_call.values():
            blocked += [access for access in accesses if access.host in arguments]
        return tuple(dict.fromkeys(blocked))

    def note_blocked(self, call: str, running_call: RunningCall) -> None:
        """Record what the call with this digest was blocked from, in case it is repeated."""
        accesses = [*running_call.admitted, *running_call.blocked]
        self._blocked_by_call[call] = tuple(dict.fromkeys(accesses))

    def taint_by_fetch(self) -> None:
        """Mark the run as tainted if a program has received a response."""
        if self.fetched_from:
            self.taint(prompts.fetched(self.fetched_from))
