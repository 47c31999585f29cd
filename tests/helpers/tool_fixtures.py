from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from manus.calls.session import Session
from manus.config.browser_settings import BrowserSettings
from manus.tools.browser.engine import launch
from tests.helpers.edits import Edit, build_editor
from tests.helpers.sessions import session_in


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """Provide a session in an empty workspace, closed at the end."""
    session = session_in(tmp_path)
    yield session
    await session.close()


@pytest.fixture
def root(session: Session) -> Path:
    """Return the folder of its workspace."""
    return session.workspace.root


@pytest.fixture
def edit(session: Session) -> Edit:
    return build_editor(session)


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    """Provide a browser for the pages that tools create."""
    async with async_playwright() as playwright:
        browser = await launch(playwright, BrowserSettings())
        yield browser
        await browser.close()
