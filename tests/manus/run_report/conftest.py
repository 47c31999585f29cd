"""A flow on the scripted server, and a browser to look at pages with."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from manus.sqlite import SqliteStore
from manus.tools.browser.engine import find_browser
from tests.flow.helpers import SECOND, ScriptedFlow
from tests.helpers.agent import TESTER
from tests.manus.run_report.viewer import Viewer
from tests.server import ScriptedServer


@pytest.fixture
async def flow(
    server: ScriptedServer,
    saver: SqliteStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[ScriptedFlow]:
    """A flow with the executors `tester` (the first) and `second`."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    monkeypatch.chdir(tmp_path)
    made = ScriptedFlow(server, workspace, saver, (TESTER, SECOND))
    yield made
    await made.graph.close_waiting()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """A browser for all; starting one takes seconds."""
    expect.set_options(timeout=60_000)
    async with async_playwright() as playwright:
        program = find_browser(None, playwright.chromium.executable_path)
        browser = await playwright.chromium.launch(executable_path=program, timeout=60_000)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def view(chromium: Browser) -> AsyncIterator[Callable[..., Awaitable[Viewer]]]:
    """Open a page; whatever it asks for and complains of is kept."""
    made: list[Viewer] = []

    async def look(address: str, **options: Any) -> Viewer:
        context = await chromium.new_context(viewport={"width": 1280, "height": 900}, **options)
        context.set_default_timeout(60_000)
        made.append(await Viewer.open(context, address))
        return made[-1]

    yield look
    for viewer in made:
        await viewer.page.context.close()
