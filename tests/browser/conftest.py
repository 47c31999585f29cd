"""A browser for each worker, a context for each test, a web site for each test."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser as Chromium
from playwright.async_api import async_playwright

from manus.calls.session import Session, get_egress_proxy
from manus.config.browser_settings import BrowserSettings, EgressSettings
from manus.config.settings import Settings
from manus.sandbox.egress import EgressRules, Resolve
from manus.sandbox.egress_proxy import EgressProxy
from manus.tools.browser.browser import NAME, Browser
from manus.tools.browser.engine import Engine, launch, open_context
from tests.browser.driver import Driver
from tests.browser.site import Site
from tests.helpers.sessions import session_in

NewDriver = Callable[..., Awaitable[Driver]]
LOOPBACK = EgressSettings(allow_private=("127.0.0.1", "localhost", "::1"))


def new_session(
    root: Path, browser: BrowserSettings | None = None, egress: EgressSettings = LOOPBACK
) -> Session:
    """Return a session that starts its own browser, which may access loopback."""
    settings = Settings(browser=browser or BrowserSettings(), egress=egress)
    return session_in(root, settings=settings)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def chromium() -> AsyncIterator[Chromium]:
    """Provide one browser for all tests of a worker; starting one takes seconds."""
    async with async_playwright() as playwright:
        browser = await launch(playwright, BrowserSettings())
        yield browser
        await browser.close()


async def join(chromium: Chromium, session: Session) -> Driver:
    """Return a driver with a context of its own in a running browser."""

    async def make() -> Browser:
        proxy = await get_egress_proxy(session)
        context = await open_context(chromium, session.settings.browser, proxy.url)
        return Browser(Engine(context), proxy, session)

    await session.obtain(NAME, make)
    return Driver(session)


@pytest_asyncio.fixture(loop_scope="session")
async def new_driver(chromium: Chromium, tmp_path: Path, site: Site) -> AsyncIterator[NewDriver]:
    """Create sessions, each with its own context in the shared browser."""
    drivers: list[Driver] = []

    async def make(
        settings: BrowserSettings | None = None,
        egress: EgressSettings = LOOPBACK,
        resolve: Resolve | None = None,
    ) -> Driver:
        session = new_session(tmp_path / str(len(drivers)), settings, egress)
        await session.obtain("egress", lambda: EgressProxy.start(EgressRules(egress, resolve)))
        drivers.append(await join(chromium, session))
        drivers[-1].site = site
        return drivers[-1]

    yield make
    for driver in drivers:
        await driver.session.close()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def shared(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    """Provide one context for the tests of a worker that leave it usable."""
    driver = await join(chromium, new_session(tmp_path_factory.mktemp("shared")))
    yield driver
    await driver.session.close()


@pytest_asyncio.fixture(loop_scope="session")
async def driver(shared: Driver, site: Site) -> AsyncIterator[Driver]:
    """Provide a browser with no page open and an empty workspace."""
    shared.site = site
    yield shared
    for tab in list(shared.browser.tabs.values()):
        await shared.browser.close_tab(tab)
    shared.session.page_is_prompted = True
    shared.session.complete = None
    root = shared.session.workspace.root
    for path in root.iterdir():
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.name != ".manus":
            shutil.rmtree(path)


@pytest.fixture
def new_site() -> Iterator[Callable[..., Site]]:
    """Create as many web sites as needed."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(Site()))


@pytest.fixture
def site(new_site: Callable[..., Site]) -> Site:
    """Provide a web site."""
    return new_site()
