"""The egress rules (SSRF protection): the hosts that browser, search and reader may reach.

The rules are checked twice. `check_url` checks the text of an address before anything is sent: the
scheme, the name, an IP address in any notation. `resolve_allowed` resolves the name and returns the
allowed IP addresses; the caller must connect to one of these without resolving again, or DNS
rebinding could bypass the rules. `manus.sandbox.egress_proxy` does this for every hop.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from manus.config.browser_settings import EgressSettings
from manus.state.errors import SettingsError, ToolError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[list[str]]]

_PORTS = {"http": 80, "https": 443}
_LOOPBACK = ipaddress.IPv4Address("127.0.0.1")
# Notations of IPv4 addresses that C libraries and browsers accept.
_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}", re.IGNORECASE)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_DNS_SECONDS = 10.0


class EgressRefusedError(ToolError):
    """The rules deny the address; the message names the rule."""


class UnreachableError(ToolError):
    """The name cannot be resolved, or the host does not respond."""


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """An entry of a rule list: an optional name or network, and an optional port."""

    name: str | None
    network: IPNetwork | None
    port: int | None

    def covers(self, host: str, port: int, address: Address | None) -> bool:
        """Return whether the entry matches a name, its parent domain, or an address in any form."""
        if self.port not in (None, port):
            return False
        if self.network is not None:
            forms = () if address is None else (address, unwrap_ipv4(address))
            return any(form in self.network for form in forms)
        return self.name is None or host == self.name or host.endswith("." + self.name)


def parse_entry(text: str) -> RuleEntry:
    """Parse an entry of the settings; raise `SettingsError` if it is invalid."""
    rest = text.strip().lower()
    port = None
    if match := re.fullmatch(r"(\[[^\]]+\]|[^:\[\]]+):([0-9]{1,5})", rest):
        rest = match[1]
        port = int(match[2])
    rest = rest.strip("[]").rstrip(".")
    if rest == "*":
        return RuleEntry(None, None, port)
    with contextlib.suppress(ValueError):
        return RuleEntry(None, ipaddress.ip_network(rest, strict=False), port)
    name = rest.removeprefix("*.")
    if not re.fullmatch(r"[^\s/:@*?#]+", name):
        raise SettingsError(f"egress: `{text}` is neither a host name, an address nor a network.")
    return RuleEntry(_encode_name(name), None, port)


def parse_ip(host: str) -> Address | None:
    """Return the IP address of a host in any notation; None if the host is a name."""
    text = host.strip("[]").partition("%")[0]
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(text)
    with contextlib.suppress(OSError):
        if _NUMERIC.fullmatch(text := text.rstrip(".")):
            return ipaddress.IPv4Address(socket.inet_aton(text))
    return None


def unwrap_ipv4(address: Address) -> Address:
    """Return the IPv4 address embedded in an IPv6 address, or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)


def is_loopback(host: str) -> bool:
    """Return whether a host is written as localhost or as a loopback address."""
    address = parse_ip(host)
    return host.lower() == "localhost" or (address is not None and unwrap_ipv4(address).is_loopback)


def classify_private(address: Address) -> str | None:
    """Return the kind of a non-public address; None if the address is public."""
    inner = unwrap_ipv4(address)
    if inner.is_loopback or inner.is_unspecified:
        return "a loopback address"
    if inner.is_link_local:
        return "a link-local address"
    if inner.is_multicast:
        return "a multicast address"
    if not inner.is_global or getattr(inner, "is_site_local", False):
        return "a private address" if inner.is_private else "a reserved address"
    return None


_NO_SERVER = (
    'A server of the user opens once manus.toml has `allow_private = ["{host}:{port}"]` under '
    "`[egress]`. Otherwise {host} is the sandbox's own, where nothing listens on port {port}: "
    "start a server there first, and wait until it answers."
)


class EgressRules:
    """The egress rules of the settings."""

    def __init__(self, settings: EgressSettings, resolve: Resolve | None = None) -> None:
        """Parse the rules; `resolve` maps a name and port to addresses [default: the system's]."""
        self._allow = [parse_entry(text) for text in settings.allow]
        self._deny = [parse_entry(text) for text in settings.deny]
        self._private = [parse_entry(text) for text in settings.allow_private]
        self._resolve = resolve or _resolve_by_system
        self.upstream = settings.upstream_proxy
        self.inside: Callable[[int], Awaitable[socket.socket | None]] | None = None
        """Connects to a port in the sandbox. If set, loopback is the sandbox's loopback, whose
        servers need no rule."""
        self.has_sandbox = False
        """Whether programs run in a sandbox, which may not have been started yet."""

    def check_url(self, url: str) -> None:
        """Check the text of an address, without resolving its name.

        Raises:
            EgressRefusedError: its scheme, its name or its IP address is not allowed.
        """
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
            port = parts.port
        except ValueError:
            raise EgressRefusedError(f"{url} is not a valid address.") from None
        if parts.scheme not in _PORTS:
            raise _refuse(url, "only http and https addresses can be opened")
        if not host:
            raise EgressRefusedError(f"{url} is not a valid address: it has no host.")
        self.check_host(host, port or _PORTS[parts.scheme])

    def check_host(self, host: str, port: int, *, inside: bool = True) -> None:
        """Check a host and a port without resolving; `inside` allows the sandbox's loopback.

        Raises:
            EgressRefusedError: the host is not allowed, regardless of what it resolves to.
        """
        address = parse_ip(host)
        if address is None and re.search(r"(^|\.)localhost$", _encode_name(host)):
            address = _LOOPBACK
        self._check(host, port, address, inside=inside)

    async def resolve_allowed(self, host: str, port: int) -> list[str]:
        """Resolve a host and return its allowed addresses.

        Raises:
            EgressRefusedError: none of the addresses is allowed.
            UnreachableError: the name cannot be resolved.
        """
        self.check_host(host, port)
        literal = parse_ip(host)
        allowed = []
        refusal = None
        for address in [literal] if literal else await self._look_up(host, port):
            try:
                self._check(host, port, address)
                allowed.append(str(address))
            except EgressRefusedError as error:
                refusal = error
        if refusal is not None and not allowed:
            raise refusal
        return allowed

    def check_for_upstream(self, host: str, port: int) -> None:
        """Check a host that an upstream proxy resolves, so that only names can be matched."""
        self.check_host(host, port)
        is_name = parse_ip(host) is None
        if self._allow and is_name and not _matches_any(self._allow, host, port, None):
            raise _refuse(host, "it is not on the allow list (`egress.allow`) by name")

    async def _look_up(self, host: str, port: int) -> list[Address]:
        try:
            async with asyncio.timeout(_DNS_SECONDS):
                resolved = await self._resolve(_encode_name(host), port)
        except (OSError, TimeoutError, UnicodeError):
            resolved = []
        if not resolved:
            raise UnreachableError(f"The host name {host} cannot be resolved.")
        return [ipaddress.ip_address(text) for text in dict.fromkeys(resolved)]

    def _check(self, host: str, port: int, address: Address | None, *, inside: bool = True) -> None:
        """Check a host against all lists; without an address, only by its name."""
        if _matches_any(self._deny, host, port, address):
            raise _refuse(host, "it is on the deny list (`egress.deny`)")
        leads_somewhere = address is None and any(entry.network for entry in self._allow)
        if (
            self._allow
            and not leads_somewhere
            and not _matches_any(self._allow, host, port, address)
        ):
            raise _refuse(host, "it is not on the allow list (`egress.allow`)")
        if address is None or (kind := classify_private(address)) is None:
            return
        if _matches_any(self._private, host, port, address):
            return
        if unwrap_ipv4(address).is_loopback:
            if inside and self.inside is not None:
                return
            if self.has_sandbox or self.inside is not None:
                raise EgressRefusedError(_NO_SERVER.format(host=host, port=port))
        subject = "it is" if parse_ip(host) else "the name resolves to"
        raise _refuse(host, f"{subject} {kind}, which `egress.allow_private` does not allow")


def _matches_any(entries: list[RuleEntry], host: str, port: int, address: Address | None) -> bool:
    return any(entry.covers(_encode_name(host), port, address) for entry in entries)


def _refuse(host: str, reason: str) -> EgressRefusedError:
    return EgressRefusedError(f"{host} was refused by the egress rules: {reason}.")


def _encode_name(host: str) -> str:
    name = host.lower().rstrip(".")
    with contextlib.suppress(UnicodeError):
        return name if name.isascii() else name.encode("idna").decode("ascii")
    return name


async def _resolve_by_system(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    results = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(item[4][0]) for item in results]
