"""The egress rules as such: what may be reached and what is said of the rest."""

import ipaddress

import pytest

from manus.state.browser_settings import EgressSettings
from manus.state.errors import SettingsError
from manus.tools.web.egress import (
    EgressRefusedError,
    EgressRules,
    UnreachableError,
    literal_address,
    parse_entry,
    private_kind,
)


def rules(answers: dict[str, list[str]] | None = None, **settings: tuple[str, ...]) -> EgressRules:
    async def resolve(host: str, port: int) -> list[str]:
        if answers is None or host not in answers:
            raise OSError("unknown")
        return answers[host]

    return EgressRules(EgressSettings(**settings), resolve)  # type: ignore[arg-type]


INNER = """127.0.0.1 127.1 2130706433 0x7f000001 0x7f.0.0.1 0177.0.0.1 017700000001 0 0.0.0.0:80
  127.0.0.1. [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [64:ff9b::7f00:1] [2002:7f00:1::]
  [fe80::1] [fc00::1] 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 224.0.0.1
  localhost LOCALHOST. x.localhost"""


@pytest.mark.parametrize("place", INNER.split())
def test_private_places_in_every_notation(place: str) -> None:
    with pytest.raises(EgressRefusedError, match=r"egress\.allow_private"):
        rules().check_url(f"http://{place}/")
    rules(allow_private=("*",)).check_url(f"http://{place}/")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "only http and https"),
        ("ftp://x.test/", "only http and https"),
        ("chrome://version", "only http and https"),
        ("view-source:http://x.test/", "only http and https"),
        ("http://", "is not a valid address"),
        ("http://[::1", "is not a valid address"),
        ("http://x.test:99999/", "is not a valid address"),
    ],
)
def test_what_is_no_address_of_the_web(url: str, why: str) -> None:
    with pytest.raises(EgressRefusedError, match=why):
        rules(allow_private=("*",)).check_url(url)


async def test_a_name_that_leads_inside() -> None:
    mixed = rules({"a.test": ["10.1.2.3"], "b.test": ["8.8.8.8", "127.0.0.1"]})
    with pytest.raises(EgressRefusedError) as caught:
        await mixed.addresses("a.test", 80)
    assert "a.test" in str(caught.value)
    assert "`egress.allow_private`" in str(caught.value)
    assert await mixed.addresses("b.test", 80) == ["8.8.8.8"]
    with pytest.raises(UnreachableError, match=r"c\.test cannot be resolved"):
        await mixed.addresses("c.test", 80)


@pytest.mark.parametrize(
    ("host", "lists", "why"),
    [
        ("a.test", {"allow": ("a.test",)}, ""),
        ("y.a.test", {"allow": ("a.test",)}, ""),
        ("a.test", {"allow": ("8.8.8.0/24",)}, ""),
        ("x.a.test", {"allow": ("a.test",), "deny": ("x.a.test",)}, "deny list"),
        ("b.test", {"deny": ("9.0.0.0/8",)}, "deny list"),
        ("b.test", {"allow": ("a.test",)}, "not on the allow list"),
        ("9.9.9.9", {"allow": ("a.test",)}, "not on the allow list"),
        ("nota.test", {"allow": ("a.test",)}, "not on the allow list"),
        ("b.test", {"allow": ("8.8.8.0/24",)}, "not on the allow list"),
    ],
)
async def test_allow_and_deny_lists(host: str, lists: dict[str, tuple[str, ...]], why: str) -> None:
    names = {"a.test": ["8.8.8.8"], "y.a.test": ["8.8.8.8"], "b.test": ["9.9.9.9"]}
    if not why:
        assert await rules(names, **lists).addresses(host, 80) == ["8.8.8.8"]
        return
    with pytest.raises(EgressRefusedError, match=why):
        await rules(names, **lists).addresses(host, 80)


CLOTHES = "::ffff:9.9.9.9 64:ff9b::909:909 2002:909:909:: 2001:0:4136:e378:8000:63bf:f6f6:f6f6"


@pytest.mark.parametrize("address", CLOTHES.split())
async def test_a_denied_network_is_denied_in_ipv6_clothes(address: str) -> None:
    some = rules({"a.test": [address]}, deny=("9.0.0.0/8",), allow_private=("*",))
    with pytest.raises(EgressRefusedError, match="deny list"):
        await some.addresses("a.test", 80)
    with pytest.raises(EgressRefusedError, match="deny list"):
        some.check_url(f"http://[{address}]/")


async def test_private_places_one_by_one() -> None:
    some = rules({"box.test": ["192.168.1.5"]}, allow_private=("localhost:8000", "192.168.1.0/24"))
    assert await some.addresses("box.test", 80) == ["192.168.1.5"]
    some.check_url("http://localhost:8000/")
    with pytest.raises(EgressRefusedError):
        some.check_url("http://localhost:8001/")
    with pytest.raises(EgressRefusedError):
        some.check_url("http://127.0.0.1:8000/")


@pytest.mark.parametrize("entry", ["http://x.test/", "a b", "", "x.test/path"])
def test_an_entry_that_is_nothing(entry: str) -> None:
    with pytest.raises(SettingsError, match="is neither a host name"):
        parse_entry(entry)


def test_entries_and_addresses() -> None:
    assert parse_entry("*.Example.com:443").name == "example.com"
    assert parse_entry("[::1]:80").port == 80
    assert parse_entry("::1").network == ipaddress.ip_network("::1")
    assert parse_entry("bücher.test").name == "xn--bcher-kva.test"
    assert literal_address("1e100.net") is None
    assert literal_address("dead.beef") is None
    assert private_kind(ipaddress.ip_address("8.8.8.8")) is None
    assert private_kind(ipaddress.ip_address("2606:4700::1111")) is None
