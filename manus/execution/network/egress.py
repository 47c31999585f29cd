"""The egress rules: which places on the network the browser, the search and the reader may reach.

The rules are asked twice. `check_url` looks at what is written in an address before anything is
sent: the scheme, the name, an address in any notation. `addresses` resolves the name and answers
with the addresses that may be connected to; whoever connects must use one of these and not
resolve again, or a name that changes its address in between (DNS rebinding) would get through.
`manus.execution.network.egress_proxy` does so for every hop of everybody.
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
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[list[str]]]

_PORTS = {"http": 80, "https": 443}
_LOOPBACK = ipaddress.IPv4Address("127.0.0.1")
# What C libraries and browsers take for an IPv4 address besides four decimal numbers.
_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}", re.IGNORECASE)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_DNS_SECONDS = 10.0


class EgressRefusedError(ToolError):
    """The rules do not let this through; the message names the rule."""


class UnreachableError(ToolError):
    """The name cannot be resolved, or nothing answers there."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a list: a name or a network, perhaps with a port; neither means all."""

    name: str | None
    network: Network | None
    port: int | None

    def covers(self, host: str, port: int, address: Address | None) -> bool:
        """Whether it means this name, one below which it stands, or this address in any guise."""
        if self.port not in (None, port):
            return False
        if self.network is not None:
            guises = () if address is None else (address, unwrap(address))
            return any(guise in self.network for guise in guises)
        return self.name is None or host == self.name or host.endswith("." + self.name)


def parse_entry(text: str) -> Entry:
    """An entry of the settings; a `SettingsError` for what is none."""
    rest, port = text.strip().lower(), None
    if match := re.fullmatch(r"(\[[^\]]+\]|[^:\[\]]+):([0-9]{1,5})", rest):
        rest, port = match[1], int(match[2])
    rest = rest.strip("[]").rstrip(".")
    if rest == "*":
        return Entry(None, None, port)
    with contextlib.suppress(ValueError):
        return Entry(None, ipaddress.ip_network(rest, strict=False), port)
    name = rest.removeprefix("*.")
    if not re.fullmatch(r"[^\s/:@*?#]+", name):
        raise SettingsError(f"egress: `{text}` is neither a host name, an address nor a network.")
    return Entry(_ascii(name), None, port)


def literal_address(host: str) -> Address | None:
    """The address that a host is, in whatever notation; None if it is a name."""
    text = host.strip("[]").partition("%")[0]
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(text)
    with contextlib.suppress(OSError):
        if _NUMERIC.fullmatch(text := text.rstrip(".")):
            return ipaddress.IPv4Address(socket.inet_aton(text))
    return None


def unwrap(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, where it stands for one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)


def is_loopback(host: str) -> bool:
    """Whether a host, as it is written, is this machine, or the sandbox."""
    address = literal_address(host)
    return host.lower() == "localhost" or (address is not None and unwrap(address).is_loopback)


def private_kind(address: Address) -> str | None:
    """What kind of address that is not part of the public internet; None if it is part of it."""
    inner = unwrap(address)
    if inner.is_loopback or inner.is_unspecified:
        return "a loopback address"
    if inner.is_link_local:
        return "a link-local address"
    if inner.is_multicast:
        return "a multicast address"
    if not inner.is_global or getattr(inner, "is_site_local", False):
        return "a private address" if inner.is_private else "a reserved address"
    return None


class EgressRules:
    """The rules made from the settings."""

    def __init__(self, settings: EgressSettings, resolve: Resolve | None = None) -> None:
        """`resolve` answers a name and port with addresses; the system's resolver by default."""
        self._allow = [parse_entry(text) for text in settings.allow]
        self._deny = [parse_entry(text) for text in settings.deny]
        self._private = [parse_entry(text) for text in settings.allow_private]
        self._resolve = resolve or _system_resolve
        self.upstream = settings.upstream_proxy
        self.inside: Callable[[int], Awaitable[socket.socket | None]] | None = None
        """Connects to a port of the sandbox. Where there is one, loopback means that of the
        programs inside: their servers need no rule."""

    def check_url(self, url: str) -> None:
        """Refuse what can be refused by looking at an address alone.

        Raises:
            EgressRefusedError: the scheme, the name or the address in it is not allowed.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise EgressRefusedError(f"{url} is not a valid address.") from None
        if parts.scheme not in _PORTS:
            raise _refused(url, "only http and https addresses can be opened")
        if not host:
            raise EgressRefusedError(f"{url} is not a valid address: it names no host.")
        self.check_host(host, port or _PORTS[parts.scheme])

    def check_host(self, host: str, port: int, *, inside: bool = True) -> None:
        """The same for a host and port, where the sandbox's loopback counts or does not.

        Raises:
            EgressRefusedError: it is not allowed, whatever it may resolve to.
        """
        address = literal_address(host)
        if address is None and re.search(r"(^|\.)localhost$", _ascii(host)):
            address = _LOOPBACK
        self._check(host, port, address, inside=inside)

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host that may be connected to.

        Raises:
            EgressRefusedError: none of them may.
            UnreachableError: the name cannot be resolved.
        """
        self.check_host(host, port)
        literal = literal_address(host)
        allowed, refusal = [], None
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
        """The same where another proxy resolves the name: an allow list counts by name."""
        self.check_host(host, port)
        is_name = literal_address(host) is None
        if self._allow and is_name and not _is_in(self._allow, host, port, None):
            raise _refused(host, "it is not on the allow list (`egress.allow`) by name")

    async def _look_up(self, host: str, port: int) -> list[Address]:
        try:
            async with asyncio.timeout(_DNS_SECONDS):
                found = await self._resolve(_ascii(host), port)
        except (OSError, TimeoutError, UnicodeError):
            found = []
        if not found:
            raise UnreachableError(f"The host name {host} cannot be resolved.")
        return [ipaddress.ip_address(text) for text in dict.fromkeys(found)]

    def _check(self, host: str, port: int, address: Address | None, *, inside: bool = True) -> None:
        """Hold a host against all lists; one whose address is not known yet by its name alone."""
        if _is_in(self._deny, host, port, address):
            raise _refused(host, "it is on the deny list (`egress.deny`)")
        leads_somewhere = address is None and any(entry.network for entry in self._allow)
        if self._allow and not leads_somewhere and not _is_in(self._allow, host, port, address):
            raise _refused(host, "it is not on the allow list (`egress.allow`)")
        if address is None or (kind := private_kind(address)) is None:
            return
        is_sandbox = inside and self.inside is not None and unwrap(address).is_loopback
        if not is_sandbox and not _is_in(self._private, host, port, address):
            what = "it is" if literal_address(host) else "the name leads to"
            raise _refused(host, f"{what} {kind}, which `egress.allow_private` does not allow")


def _is_in(entries: list[Entry], host: str, port: int, address: Address | None) -> bool:
    return any(entry.covers(_ascii(host), port, address) for entry in entries)


def _refused(host: str, why: str) -> EgressRefusedError:
    return EgressRefusedError(f"{host} was refused by the egress rules: {why}.")


def _ascii(host: str) -> str:
    name = host.lower().rstrip(".")
    with contextlib.suppress(UnicodeError):
        return name if name.isascii() else name.encode("idna").decode("ascii")
    return name


async def _system_resolve(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(item[4][0]) for item in found]
