"""The forward proxy by itself: what goes through unchanged, and what does not."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from manus.state.browser_settings import EgressSettings
from manus.tools.web.egress import EgressRules
from manus.tools.web.egress_proxy import EgressProxy
from tests.browser.site import Answer, Request, Site


@pytest.fixture
async def proxy() -> AsyncIterator[EgressProxy]:
    proxy = await EgressProxy.start(EgressRules(EgressSettings(allow_private=("127.0.0.1",))))
    yield proxy
    await proxy.close()


@pytest.fixture
async def client(proxy: EgressProxy) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(proxy=proxy.url, trust_env=False, timeout=60) as client:
        yield client


async def test_requests_and_answers_go_through(client: httpx.AsyncClient, site: Site) -> None:
    def echo(request: Request) -> Answer:
        return Answer(request.body[::-1], headers={"X-Query": request.query}, type="x/y")

    site.pages["/echo"] = echo
    for size in (0, 10, 3_000_000):
        body = bytes(range(250)) * (size // 250) if size > 10 else b"x" * size
        answer = await client.post(f"{site.base}/echo?a=1&b=%20", content=body)
        assert answer.content == body[::-1]
        assert answer.headers["X-Query"] == "a=1&b=%20"


async def test_refusals_name_the_rule_and_are_counted(proxy: EgressProxy) -> None:
    async with httpx.AsyncClient(proxy=proxy.url, trust_env=False) as client:
        answer = await client.get("http://10.0.0.1/")
        assert answer.status_code == 403
        assert "10.0.0.1 was refused" in answer.text
        with pytest.raises(httpx.ProxyError):
            await client.get("https://10.0.0.1/")
    (incident,) = proxy.incidents.since(0)
    assert (incident.host, incident.refused) == ("10.0.0.1", True)
    assert proxy.incidents.count == 2


async def test_a_second_request_on_a_connection_goes_nowhere(
    proxy: EgressProxy, site: Site
) -> None:
    site.pages["/"] = "first"
    ask = f"GET {site.base}/ HTTP/1.1\r\nHost: {site.place}\r\nConnection: keep-alive\r\n\r\n"
    said = await answer(proxy, f"{ask}GET http://10.0.0.1/ HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n")
    assert b"connection: close" in said.lower()
    assert said.count(b"HTTP/1.1") == 1
    assert site.paths() == ["/"]


async def answer(proxy: EgressProxy, request: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(request.encode())
    async with asyncio.timeout(60):
        said = await reader.read()
    writer.close()
    return said


async def test_a_name_that_changes_its_address(site: Site) -> None:
    site.pages["/"] = "hello"
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    rules = EgressRules(EgressSettings(allow_private=("127.0.0.1",)), resolve)
    proxy = await EgressProxy.start(rules)
    async with httpx.AsyncClient(proxy=proxy.url, trust_env=False) as client:
        url = f"http://rebind.test:{site.port}/"
        assert (await client.get(url)).text == "hello"
        assert asked == ["rebind.test"], "it is looked up once, and that address connected to"
        assert (await client.get(url)).status_code == 403
    await proxy.close()


async def test_behind_another_proxy_the_lists_count_by_name(site: Site) -> None:
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
            assert (await client.get(f"http://{name}:{site.port}/")).status_code == status, name
    await inner.close()
    await outer.close()
