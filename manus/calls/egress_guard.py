"""The egress guard of a run: protection against exfiltration by prompt injection.

A prompt injection can steal only what the run has read, and only by sending it. So once a run has
read both kinds of text, whatever the model composes and sends out needs approval, whatever the host
and the tool. An address that stands in the user's words or on a page that was read is not composed.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from langchain_core.messages import AnyMessage, ToolMessage

from manus.config.run_settings import RunSettings
from manus.config.safety_settings import is_covered
from manus.prompts import approval as prompts
from manus.prompts.sources import COMMAND, MCP, WORKSPACE, is_foreign, is_own_page
from manus.sandbox.egress import RuleEntry, is_loopback, parse_entry, parse_ip
from manus.state.agent import ToolTask
from manus.state.messages import SOURCE, get_text
from manus.state.request import all_own_words
from manus.state.taint import Exposure, addresses_in, with_path

HOST = "host"
"""The name of rules about where a run may send something: `host(example.org)`."""
ANY_HOST = f"{HOST}(*)"
"""The rule that lets a run send anything anywhere."""


def host_rule(host: str) -> str:
    """Return the approval rule that covers exactly this host."""
    return f"{HOST}({glob.escape(host)})"


@dataclass(slots=True, eq=False)
class RunningCall:
    """A call that is being executed."""

    admitted: frozenset[str]
    """Hosts that the user has approved for it."""
    blocked: list[str] = field(default_factory=list)
    """Hosts that its programs were blocked from."""
    has_fetched: bool = False
    """Whether a program received a response from a host."""


class EgressGuard:
    """What a run has read, the addresses that its user typed, and those that it has read."""

    def __init__(
        self,
        *,
        trusts_folder: bool = True,
        has_files: bool = True,
        running_calls: list[RunningCall] | None = None,
    ) -> None:
        """Create the guard of a run; files of an untrusted folder are untrusted text.

        `running_calls` is the session's list of the calls that are being executed.
        """
        self.words = ""
        """The user's own words."""
        self.asking: dict[str, str] = {}
        """Hosts that the user is being asked about, with the key of the asking call."""
        self.has_files = has_files
        """Whether programs can read private files: none, in a workspace that was empty."""
        self.why_tainted = "" if trusts_folder else prompts.UNTRUSTED_FOLDER
        """Which untrusted text the run has read, for the question; empty if none."""
        self.why_private = ""
        """What it has read that is private; empty if nothing."""
        self.fetched_from = ""
        """The host from which a program has received the first response."""
        self._is_free = False
        self._asks = True
        self._entries: list[RuleEntry] = []
        self._rules: tuple[str, ...] = ()
        self._refused: tuple[str, ...] = ()
        self._typed: frozenset[str] = frozenset()
        self._calls = running_calls if running_calls is not None else []
        self._addresses_read: set[str] = set()

    @property
    def exposure(self) -> Exposure:
        """Return which of the two kinds of text the run has read."""
        return Exposure(bool(self.why_tainted), bool(self.why_private))

    def taint(self, reason: str) -> None:
        """Record that untrusted text was read; the first reason is kept."""
        self.why_tainted = self.why_tainted or reason

    def note_private(self, reason: str) -> None:
        """Record that something private was read; the first reason is kept."""
        self.why_private = self.why_private or reason

    def exposure_from(self, source: str) -> Exposure:
        """Return the exposure after the text of a source has been read as well."""
        is_file = source in (COMMAND, WORKSPACE) or is_own_page(source)
        is_private = source.startswith(MCP) or (is_file and self.has_files)
        return self.exposure | Exposure(is_foreign(source), is_private)

    def read_history(self, messages: Iterable[AnyMessage]) -> None:
        """Read the user's own words, and the addresses on pages, from a message history."""
        messages = list(messages)
        self.words = all_own_words(messages)
        for message in messages:
            source = str(message.additional_kwargs.get(SOURCE, ""))
            if isinstance(message, ToolMessage) and is_foreign(source):
                self.read(get_text(message))

    def begin(
        self, task: ToolTask, settings: RunSettings, *, is_free: bool, asks: bool = True
    ) -> None:
        """Apply the settings and rules for this call and later ones.

        `is_free`: every host is allowed. `asks`: the user can be asked for approval.
        """
        self._is_free = is_free
        self._asks = asks
        # descriptions of a server's tools are part of each request
        if any(server.enabled and not server.trust for server in settings.mcp.values()):
            self.taint(prompts.SERVER_TEXT)
        if task.get("outside"):
            self.taint(prompts.UNTRUSTED_TEXT)
        if task.get("private"):
            self.note_private(prompts.PRIVATE_TEXT)
        self.taint_by_fetch()
        self._typed = frozenset(task.get("named", ()))
        trusted = (*settings.egress.allow, *(s.host for s in settings.secrets.values()))
        self._entries = [parse_entry(name) for name in trusted]
        self._rules = (*settings.approve.allow, *task.get("approved", ()))
        self._refused = (*settings.approve.deny, *task.get("refused", ()))

    def read(self, text: str, page_address: str = "") -> None:
        """Record the addresses in an untrusted text, whose author already knows them.

        Pages of this machine are skipped, since the agent may have created them.
        """
        parts = urlsplit(page_address)
        if parts.scheme != "file" and not is_loopback(parts.hostname or ""):
            self._addresses_read |= addresses_in(text)

    def is_composed(self, address: str) -> bool:
        """Return whether an address stands neither in the user's words nor on a page."""
        address = address.strip()
        forms = [address] if "://" in address else [f"http://{address}", f"https://{address}"]
        existing = self._typed | self._addresses_read
        return existing.isdisjoint(map(with_path, forms))

    def needs_approval(self, host: str, *, by_program: bool = False) -> bool:
        """Return whether sending something that the model composed to a host needs approval.

        A program can send what the model has not read, so it counts as having read the files.
        """
        if self._is_free or is_loopback(host) or not self.why_tainted:
            return False
        if not (self.why_private or (by_program and self.has_files)):
            return False
        address = parse_ip(host)
        if any(entry.covers(host, entry.port or 0, address) for entry in self._entries):
            return False
        if any(host in call.admitted for call in self._calls):
            return False
        return not is_covered(self._rules, HOST, [host])

    def explain(self, hosts: Iterable[str], *, by_program: bool = False) -> str:
        """Return why the user is asked about sending something to hosts."""
        why_private = self.why_private or prompts.FILES
        return prompts.sends(list(hosts), self.why_tainted, why_private, by_program=by_program)

    def was_refused(self, host: str) -> bool:
        """Return whether the user has refused a host earlier in the run."""
        return bool(self._refused) and is_covered(self._refused, HOST, [host])

    async def hold(self, host: str) -> str:
        """Return why a program must not connect to a host; empty if it may."""
        if not self.needs_approval(host, by_program=True):
            return ""
        for call in self._calls:
            call.blocked.append(host)
        if self.was_refused(host) or not self._asks:
            return prompts.held_for_good(host)
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

    def taint_by_fetch(self) -> None:
        """Mark the run as tainted if a program has received a response."""
        if self.fetched_from:
            self.taint(prompts.fetched(self.fetched_from))
