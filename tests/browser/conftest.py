"""A browser for each module, a web site for each test."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from manus.state.browser_settings import BrowserSettings, EgressSettings
from manus.state.settings import Settings
from manus.tools.session import Session
from manus.tools.workspace import Workspace
from tests.browser.driver import Driver
from tests.browser.site import Site


def new_session(
    root: Path, browser: BrowserSettings | None = None, egress: EgressSettings | None = None
) -> Session:
    """A session whose browser may go to loopback."""
    workspace = Workspace(root)
    workspace.prepare()
    settings = Settings(
        browser=browser or BrowserSettings(),
        egress=egress or EgressSettings(allow_private=("127.0.0.1", "localhost", "::1")),
    )
    return Session(workspace, settings=settings)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Session]:
    """One browser for the tests of a module; starting one takes seconds."""
    session = new_session(tmp_path_factory.mktemp("workspace"))
    yield session
    await session.close()


@pytest_asyncio.fixture(loop_scope="module")
async def driver(shared: Session) -> AsyncIterator[Driver]:
    """The module's browser with nothing in it."""
    driver = Driver(shared)
    await driver.fresh()
    yield driver
    for entry in shared.workspace.root.iterdir():
        if entry.name != ".manus":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


@pytest.fixture
def new_site() -> Iterator[Callable[..., Site]]:
    """Make web sites, as many as wanted."""
    made: list[Site] = []

    def make(host: str = "127.0.0.1") -> Site:
        made.append(Site(host))
        return made[-1]

    yield make
    for site in made:
        site.close()


@pytest.fixture
def site(new_site: Callable[..., Site]) -> Site:
    """A web site."""
    return new_site()
