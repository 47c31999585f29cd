"""The egress rules, the message for a refused request, and the forward proxy that enforces them."""

import asyncio
import ipaddress
from collections.abc import AsyncIterator

import httpx
import pytest

from manus.config.browser_settings import EgressSettings
from manus.sandbox.egress import (
    EgressRefusedError,
    EgressRules,
    UnreachableError,
    classify_private,
    parse_entry,
    parse_ip,
)
from manus.sandbox.egress_proxy import EgressProxy
from manus.state.errors import SettingsError
from tests.browser.site import Answer, Site


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


NO_WEB = {
    "file:///etc/passwd": "only http and https",
    "ftp://x.test/": "only http and https",
    "chrome://version": "only http and https",
    "view-source:http://x.test/": "only http and https",
    "http://": "is not a valid address",
    "http://[::1": "is not a valid address",
    "http://x.test:99999/": "is not a valid address",
}


def test_a_missing_server_of_the_sandbox_is_reported() -> None:
    own = rules()
    own.has_sandbox = True
    with pytest.raises(
        EgressRefusedError, match=r'opens once .*"127\.0\.0\.1:8766".* nothing listens on port 8766'
    ):
        own.check_url("http://127.0.0.1:8766/")
    with pytest.raises(EgressRefusedError, match="it is a private address"):
        own.check_url("http://10.0.0.1/")


def test_private_addresses_in_every_notation(subtests: pytest.Subtests) -> None:
    for place in INNER.split():
        with subtests.test(place=place):
            with pytest.raises(EgressRefusedError, match=r"egress\.allow_private"):
                rules().check_url(f"http://{place}/")
            rules(allow_private=("*",)).check_url(f"http://{place}/")
    for url, why in NO_WEB.items():
        with subtests.test(url=url), pytest.raises(EgressRefusedError, match=why):
            rules(allow_private=("*",)).check_url(url)


async def test_a_name_that_resolves_to_a_private_address(subtests: pytest.Subtests) -> None:
    mixed = rules({"a.test": ["10.1.2.3"], "b.test": ["8.8.8.8", "127.0.0.1"]})
    with pytest.raises(EgressRefusedError) as caught:
        await mixed.resolve_allowed("a.test", 80)
    assert "a.test" in str(caught.value)
    assert "`egress.allow_private`" in str(caught.value)
    assert await mixed.resolve_allowed("b.test", 80) == ["8.8.8.8"]
    with pytest.raises(UnreachableError, match=r"c\.test cannot be resolved"):
        await mixed.resolve_allowed("c.test", 80)
    some = rules({"box.test": ["192.168.1.5"]}, allow_private=("localhost:8000", "192.168.1.0/24"))
    assert await some.resolve_allowed("box.test", 80) == ["192.168.1.5"], "one by one"
    some.check_url("http://localhost:8000/")
    for url in ("http://localhost:8001/", "http://127.0.0.1:8000/"):
        with subtests.test(url=url), pytest.raises(EgressRefusedError):
            some.check_url(url)


LISTS: list[tuple[str, dict[str, tuple[str, ...]], str]] = [
    ("x.a.test", {"allow": ("a.test",), "deny": ("x.a.test",)}, "deny list"),
    ("b.test", {"deny": ("9.0.0.0/8",)}, "deny list"),
    ("b.test", {"allow": ("a.test",)}, "not on the allow list"),
    ("9.9.9.9", {"allow": ("a.test",)}, "not on the allow list"),
    ("nota.test", {"allow": ("a.test",)}, "not on the allow list"),
    ("b.test", {"allow": ("8.8.8.0/24",)}, "not on the allow list"),
]


CLOTHES = "::ffff:9.9.9.9 64:ff9b::909:909 2002:909:909:: 2001:0:4136:e378:8000:63bf:f6f6:f6f6"


async def test_allow_and_deny_lists(subtests: pytest.Subtests) -> None:
    names = {"a.test": ["8.8.8.8"], "y.a.test": ["8.8.8.8"], "b.test": ["9.9.9.9"]}
    for host, entry in (("a.test", "a.test"), ("y.a.test", "a.test"), ("a.test", "8.8.8.0/24")):
        with subtests.test(host=host, entry=entry):
            assert await rules(names, allow=(entry,)).resolve_allowed(host, 80) == ["8.8.8.8"]
    for host, lists, why in LISTS:
        with subtests.test(host=host), pytest.raises(EgressRefusedError, match=why):
            await rules(names, **lists).resolve_allowed(host, 80)
    for address in CLOTHES.split():
        with subtests.test(address=address):
            some = rules({"a.test": [address]}, deny=("9.0.0.0/8",), allow_private=("*",))
            with pytest.raises(EgressRefusedError, match="deny list"):
                await some.resolve_allowed("a.test", 80)
            with pytest.raises(EgressRefusedError, match="deny list"):
                some.check_url(f"http://[{address}]/")


def test_entries_and_addresses(subtests: pytest.Subtests) -> None:
    for entry in ("http://x.test/", "a b", "", "x.test/path"):
        with (
            subtests.test(entry=entry),
            pytest.raises(SettingsError, match="is neither a host name"),
        ):
            parse_entry(entry)
    assert parse_entry("*.Example.com:443").name == "example.com"
    assert parse_entry("[::1]:80").port == 80
    assert parse_entry("::1").network == ipaddress.ip_network("::1")
    assert parse_entry("bücher.test").name == "xn--bcher-kva.test"
    assert parse_ip("1e100.net") is None
    assert parse_ip("dead.beef") is None
    assert classify_private(ipaddress.ip_address("8.8.8.8")) is None
    assert classify_private(ipaddress.ip_address("2606:4700::1111")) is None


@pytest.fixture
async def proxy() -> AsyncIterator[EgressProxy]:
    proxy = await EgressProxy.start(EgressRules(EgressSettings(allow_private=("127.0.0.1",))))
    yield proxy
    await proxy.close()


@pytest.fixture
async def client(proxy: EgressProxy) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(proxy=proxy.url, trust_env=False, timeout=60) as client:
        yield client


async def test_requests_go_through_and_refusals_name_the_rule_and_are_counted(
    proxy: EgressProxy, client: httpx.AsyncClient, site: Site
) -> None:
    site.pages["/echo"] = lambda request: Answer(request.query.encode() + request.body)
    body = bytes(range(250)) * 12_000
    answer = await client.post(f"{site.base}/echo?a=1&b=%20", content=body)
    assert answer.content == b"a=1&b=%20" + body
    answer = await client.get("http://10.0.0.1/")
    assert answer.status_code == 403
    assert "10.0.0.1 was refused" in answer.text
    with pytest.raises(httpx.ProxyError):
        await client.get("https://10.0.0.1/")
    (incident,) = proxy.incidents.since(0)
    assert (incident.host, incident.refused) == ("10.0.0.1", True)
    assert proxy.incidents.count == 2


async def test_a_connection_serves_one_request(proxy: EgressProxy, site: Site) -> None:
    site.pages["/"] = "first"
    ask = f"GET {site.base}/ HTTP/1.1\r\nHost: {site.place}\r\nConnection: keep-alive\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(f"{ask}GET http://10.0.0.1/ HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n".encode())
    async with asyncio.timeout(60):
        response = await reader.read()
    writer.close()
    assert b"connection: close" in response.lower()
    assert response.count(b"HTTP/1.1") == 1
    assert site.paths() == ["/"]


async def test_a_name_that_changes_its_address(site: Site) -> None:
    site.pages["/"] = "hello"
    lookups: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        lookups.append(host)
        return ["127.0.0.1"] if len(lookups) == 1 else ["127.0.0.2"]

    rules = EgressRules(EgressSettings(allow_private=("127.0.0.1",)), resolve)
    proxy = await EgressProxy.start(rules)
    async with httpx.AsyncClient(proxy=proxy.url, trust_env=False) as client:
        url = f"http://rebind.test:{site.port}/"
        assert (await client.get(url)).text == "hello"
        assert lookups == ["rebind.test"], "it is resolved once, and that address is used"
        assert (await client.get(url)).status_code == 403
    await proxy.close()


async def test_behind_another_proxy_the_lists_apply_to_names(
    site: Site, subtests: pytest.Subtests
) -> None:
    async def anywhere(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    site.pages["/"] = "hello"
    outer = await EgressProxy.start(EgressRules(EgressSettings(allow_private=("*",)), anywhere))
    settings = EgressSettings(
        upstream_proxy=outer.url,
        allow=("127.0.0.0/8", "listed.test"),
        deny=("bad.listed.test",),
        allow_private=("*",),
    )
    inner = await EgressProxy.start(EgressRules(settings))
    async with httpx.AsyncClient(proxy=inner.url, trust_env=False) as client:
        for name, status in (
            ("listed.test", 200),
            ("127.0.0.1", 200),
            ("bad.listed.test", 403),
            ("in.test", 403),
        ):
            with subtests.test(name=name, status=status):
                assert (await client.get(f"http://{name}:{site.port}/")).status_code == status, name
    await inner.close()
    await outer.close()
