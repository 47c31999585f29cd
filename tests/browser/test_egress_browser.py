"""No internal address is reachable through the browser, whatever a page tries."""

from collections.abc import Callable

import pytest
import pytest_asyncio

from manus.config.browser_settings import EgressSettings
from tests.browser.conftest import NewDriver
from tests.browser.driver import Driver
from tests.browser.site import Answer, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

SECRET = "the inner secret"


async def resolve(host: str, port: int) -> list[str]:
    """Resolve every name except this one to an internal address."""
    return ["8.8.8.8"] if host == "out.test" else ["127.0.0.1"]


@pytest.fixture
def inner(new_site: Callable[..., Site]) -> Site:
    """Provide a server that must never receive a request."""
    site = new_site()
    site.pages["/"] = Answer(SECRET, headers={"Access-Control-Allow-Origin": "*"})
    return site


@pytest_asyncio.fixture(loop_scope="session")
async def driver(new_driver: NewDriver, site: Site) -> Driver:
    """Provide a browser that may access the server `site`, and nothing else on loopback."""
    allowed = EgressSettings(allow_private=(f"127.0.0.1:{site.port}",))
    return await new_driver(egress=allowed, resolve=resolve)


def ways(inner: Site) -> list[str]:
    hosts = ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "evil.test")
    return [f"http://{host}:{inner.port}/" for host in hosts]


async def test_no_internal_address_is_opened(
    driver: Driver, inner: Site, subtests: pytest.Subtests
) -> None:
    await driver.show("<title>Out</title><input type=text name=email><input type=password>")
    await driver.say("input_text", index=1, text="x")
    proxy = driver.session.peek("egress")
    assert proxy.incidents.since(0) == [], "the browser itself makes no requests"
    await driver.look()  # or the calls would be in the message of a sign-in that has not succeeded
    for url in ways(inner):
        with subtests.test(url=url):
            error = await driver.fail("go_to_url", url=url)
            assert "egress" in error, error
    assert "egress" in await driver.fail("open_tab", url=url)
    assert inner.requests == []
    assert "Title: Out" in await driver.open(driver.site.base)


async def test_no_page_navigates_to_an_internal_address(
    driver: Driver, site: Site, inner: Site, subtests: pytest.Subtests
) -> None:
    for url in ways(inner)[2:]:
        site.pages["/redirect"] = Answer("", 302, headers={"Location": url})
        site.pages["/meta"] = f"<meta http-equiv=refresh content='0;url={url}'>"
        site.pages["/script"] = f"<script>location = '{url}'</script>"
        for method in ("redirect", "meta", "script"):
            with subtests.test(url=url, method=method):
                output = (await driver.do("go_to_url", url=f"{site.base}/{method}")).text
                assert "egress" in output, (method, url, output)
                assert SECRET not in output + await driver.look(), (method, url)
    assert inner.requests == []


async def test_no_part_of_a_page_is_loaded_from_an_internal_address(
    driver: Driver, site: Site, inner: Site
) -> None:
    parts = "".join(
        f"""<img src="{url}"><script src="{url}"></script><iframe src="{url}"></iframe>
        <link rel=stylesheet href="{url}"><link rel=preload as=fetch href="{url}">
        <object data="{url}"></object><video src="{url}"></video>
        <script>fetch("{url}").then(r => r.text()).then(t => document.body.append(t), () => 0);
        fetch("{url}", {{mode: "no-cors"}}).catch(() => 0); navigator.sendBeacon("{url}", "x");
        const w{n} = new WebSocket("{url.replace("http", "ws")}"); new EventSource("{url}");
        new Image().src = "{url}";</script>"""
        for n, url in enumerate(ways(inner))
    )
    site.pages["/"] = f"<title>Parts</title><body>{parts}<p id=done>All there</p>"
    output = await driver.say("go_to_url", url=site.base)
    assert "egress rules" in output
    text = await driver.look()
    assert "Title: Parts" in text
    assert SECRET not in text
    assert inner.requests == []
