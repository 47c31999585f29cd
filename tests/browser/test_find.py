"""Where a browser is looked for."""

from pathlib import Path

import pytest

from manus.state.browser_settings import BrowserSettings
from manus.state.errors import ToolUnavailableError
from manus.tools.browser.engine import find_browser
from tests.browser.conftest import new_session
from tests.browser.driver import Driver


def test_the_order_and_what_helps_where_there_is_none(tmp_path: Path) -> None:
    own, bundled = tmp_path / "own", tmp_path / "bundled"
    own.touch(0o755)
    bundled.touch()
    found = {"chromium-browser": "/somewhere/chromium-browser"}.get
    assert find_browser(str(own), str(bundled)) == str(own)
    assert find_browser(None, str(bundled), found) == str(bundled)
    assert find_browser(None, "/no", found) == "/somewhere/chromium-browser"
    with pytest.raises(ToolUnavailableError, match=r"/no/such.*playwright install chromium"):
        find_browser(None, "/no/such", lambda _: None)
    with pytest.raises(ToolUnavailableError, match="MANUS_BROWSER_PATH"):
        find_browser("/no/such", None, found)


async def test_a_browser_that_does_not_start_is_one_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no >&2\nexit 3\n")
    broken.chmod(0o755)
    session = new_session(tmp_path / "w", BrowserSettings(path=str(broken)))
    said = await Driver(session).fail("go_to_url", url="http://127.0.0.1:1/")
    assert "\n" not in said
    await session.close()
