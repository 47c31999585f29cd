"""The egress guard of a run: to which hosts it may send what the model made up.

Once a run is tainted (it has read untrusted text), it asks before it sends anything of its own
making to a host that the user has not named: an address that it has not read, text that it types
into a page, whatever a program sends. One answer holds for a host and a kind of access until the
run ends.
"""

from __future__ import annotations

import asyncio
import glob
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from langchain_core.messages import AnyMessage

from manus.config.safety_settings import is_covered
from manus.config.settings import Settings
from manus.execution.network.egress import RuleEntry, is_loopback, literal_address, parse_entry
from manus.execution.network.registries import registry_hosts
from manus.execution.workspace_names import is_workspace_name
from manus.prompts import approval as prompts
from manus.state.agent import ToolTask
from manus.state.taint import addresses_in, with_path
from manus.state.user_words import all_own_words, is_phrase_of

HOST = "host"
"""The name of rules about hosts, whatever the kind of access: `host(example.org)`."""

AccessKind = Literal["open", "type", "program"]
"""How a run sends something: an address that the browser opens, text that it types into a page, a
connection of a program."""

_PROGRAM_RULE = f"{HOST}-program("
"""How the rules begin that a person's yes to a program's connection leaves behind."""
_SEARCH_FIELDS = frozenset(
    {"q", "query", "s", "search", "k", "keyword", "keywords", "text", "term"}
)


class Access(NamedTuple):
    """One kind of access to one host."""

    kind: AccessKind
    host: str

    @property
    def rule(self) -> str:
        """The approval rule that covers exactly this."""
        return f"{HOST}-{self.kind}({glob.escape(self.host)})"

    def is_covered_by(self, rules: Iterable[str]) -> bool:
        """Return whether rules about the host, or about this kind of access to it, cover it."""
        rules = list(rules)
        names = (HOST, f"{HOST}-{self.kind}")
        return any(is_covered(rules, name, [self.host]) for name in names)


@dataclass(slots=True, eq=False)
class CallUnderWay:
    """A call that is being carried out."""

    admitted: frozenset[Access]
    """What a person has let it do."""
    held: list[Access]
    """What was held back of its programs."""
    has_fetched: bool = False
    """Whether a program was answered by a host."""


class EgressGuard:
    """Knows the taint of a run, the hosts its user has named and the addresses it has read."""

    def __init__(self, root: Path, *, trusts_folder: bool = True) -> None:
        """`root` is the workspace; files of a folder that is not trusted are untrusted text."""
        self.named: tuple[str, ...] = ()
        """The hosts that the user has named, in the settings or in words."""
        self.words = ""
        """The user's own words."""
        self.asking: dict[Access, str] = {}
        """What a person is being asked about, with the key of the call that asks."""
        self.shares_network = False
        """Whether programs use the machine's network, restricted by Landlock: the first connection
        of a program in a tainted run is asked about, wherever it leads."""
        self._root = root
        self._taint = "" if trusts_folder else prompts.UNTRUSTED_FOLDER
        self._fetched_from = ""
        self._is_free = False
        self._asks = True
        self._entries: list[RuleEntry] = []
        self._rules: tuple[str, ...] = ()
        self._refused: tuple[str, ...] = ()
        self._names: dict[str, bool] = {}
        self._used: set[str] = set()
        self._calls: list[CallUnderWay] = []
        self._addresses_read: set[str] = set()
        self._held_by_call: dict[str, tuple[Access, ...]] = {}

    @property
    def is_tainted(self) -> bool:
        """Whether the run has read untrusted text, and questions are asked at all."""
        return bool(self._taint) and not self._is_free

    @property
    def why_tainted(self) -> str:
        """The reason in words, for the question."""
        return self._taint

    def taint(self, reason: str) -> None:
        """Note that untrusted text is before the model; the first reason is kept."""
        self._taint = self._taint or reason

    def hear(self, messages: Iterable[AnyMessage]) -> None:
        """Take over the user's own words from a history."""
        self.words = all_own_words(messages)

    async def begin(
        self, task: ToolTask, settings: Settings, *, is_free: bool, asks: bool = True
    ) -> None:
        """Take over what holds for a call and for those to come.

        `is_free`: every host is free. `asks`: a person can be asked about those that are not.
        """
        self._is_free = is_free
        self._asks = asks
        # what a server says of its tools stands in each request
        if any(server.enabled and not server.trust for server in settings.mcp.values()):
            self.taint(prompts.SERVER_TEXT)
        if task.get("outside"):
            self.taint(prompts.UNTRUSTED_TEXT)
        self._taint_by_fetch()
        trusted = (*settings.egress.allow, *(s.host for s in settings.secrets.values()))
        hosts = [name for name in task.get("mentioned", ()) if await self._is_host(name)]
        self.named = (*trusted, *task.get("named", ()), *hosts)
        self._entries = [replace(parse_entry(name), port=None) for name in self.named]
        self._rules = (*settings.approve.allow, *task.get("approved", ()))
        self._refused = tuple(task.get("refused", ()))

    async def _is_host(self, name: str) -> bool:
        """Return whether a name that the user wrote is that of nothing in the workspace."""
        if not self.is_tainted:
            return False  # it makes no difference yet
        if name not in self._names:
            self._names[name] = not await asyncio.to_thread(is_workspace_name, self._root, name)
        return self._names[name]

    def read(self, text: str, page_address: str = "") -> None:
        """Take note of the addresses in an untrusted text: whoever wrote them knows them.

        A page of this machine is left out: the agent may have made it.
        """
        parts = urlsplit(page_address)
        if parts.scheme != "file" and not is_loopback(parts.hostname or ""):
            self._addresses_read |= addresses_in(text)

    def has_read(self, address: str) -> bool:
        """Return whether exactly that address stood in an untrusted text."""
        return bool(self._forms(address) & self._addresses_read)

    def is_known_search(self, address: str) -> bool:
        """Return whether an address adds nothing but the user's words to one that was read.

        `https://shop.example/search?q=kite` does, where the page and "kite" are known.
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
        whole = [address] if "://" in address else [f"http://{address}", f"https://{address}"]
        return {with_path(form) for form in whole}

    def needs_approval(self, access: Access) -> bool:
        """Return whether a person has to be asked about a kind of access to a host."""
        host = access.host
        if self.is_first_use(access):
            return True
        if not self.is_tainted:
            self._used.add(host)
        if host in self._used or self.is_named(host):
            return False
        if any(access in call.admitted for call in self._calls):
            return False
        return not access.is_covered_by(self._rules)

    def is_first_use(self, access: Access) -> bool:
        """Return whether no person has let a program use the machine's network in this run yet."""
        if not self.shares_network or access.kind != "program" or not self.is_tainted:
            return False
        if is_loopback(access.host) or access.is_covered_by(self._rules):
            return False
        admitted = [known for call in self._calls for known in call.admitted]
        is_approved = any(known.kind == "program" for known in admitted)
        return not is_approved and not any(rule.startswith(_PROGRAM_RULE) for rule in self._rules)

    def is_named(self, host: str) -> bool:
        """Return whether the user has named a host, or one above it; this machine is the user's."""
        address = literal_address(host)
        return is_loopback(host) or any(e.covers(host, 0, address) for e in self._entries)

    def was_refused(self, access: Access) -> bool:
        """Return whether this was refused before in the run."""
        return access.is_covered_by(self._refused) or self.was_network_refused(access)

    def was_network_refused(self, access: Access) -> bool:
        """Return whether programs were refused the machine's network, to whatever host."""
        is_refused = any(rule.startswith(_PROGRAM_RULE) for rule in self._refused)
        return is_refused and self.is_first_use(access)

    async def hold(self, host: str) -> str:
        """Return why a program may not connect to a host; empty if it may."""
        access = Access("program", host)
        if not self.needs_approval(access):
            return ""
        if not self.is_first_use(access) and host in await registry_hosts(self._root):
            return ""
        for call in self._calls:
            call.held.append(access)
        if self.was_network_refused(access):
            return prompts.NETWORK_REFUSED
        if self.was_refused(access) or not self._asks:
            return prompts.held_for_good(host)
        if self.is_first_use(access):
            return prompts.held_at_first_use(host, self._taint)
        return prompts.held(host, self._taint)

    def note_response(self, host: str) -> None:
        """Note that a program was answered by a host: its output may hold what the host sent.

        The model reads it when the call has ended; from then on the run is tainted. Until then the
        program goes on as the model has started it: `curl -L` follows a redirect.
        """
        if is_loopback(host):
            return
        self._fetched_from = self._fetched_from or host
        for call in self._calls:
            call.has_fetched = True

    def accesses_held(self, call: str, arguments: str) -> tuple[Access, ...]:
        """Return what was held when the call of that digest was made before.

        And what was held of another call, if the arguments of this one name the host.
        """
        named = [
            access
            for accesses in self._held_by_call.values()
            for access in accesses
            if access.host in arguments
        ]
        return tuple(dict.fromkeys([*self._held_by_call.get(call, ()), *named]))

    @contextmanager
    def admitting(self, accesses: Iterable[Access], call: str) -> Iterator[CallUnderWay]:
        """Let these accesses through for the length of a block, which carries out a call.

        Yields what is known of the call's programs at the end of the block.
        """
        under_way = CallUnderWay(frozenset(accesses), [])
        self._calls.append(under_way)
        try:
            yield under_way
        finally:
            self._calls.remove(under_way)
            if under_way.held:
                wanted = [*under_way.admitted, *under_way.held]
                self._held_by_call[call] = tuple(dict.fromkeys(wanted))
            self._taint_by_fetch()

    def _taint_by_fetch(self) -> None:
        if self._fetched_from:
            self.taint(prompts.fetched(self._fetched_from))
