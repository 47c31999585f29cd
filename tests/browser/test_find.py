"""Where a browser is looked for."""

from pathlib import Path

import pytest

from manus.state.browser_settings import BrowserSettings
from manus.state.errors import ToolUnavailableError
from manus.tools.browser.engine import find_browser
from tests.browser.conftest import new_session
from tests.browser.driver import Driver


def nothing(name: str) -> str | None:
    return None


def test_the_order(tmp_path: Path) -> None:
    own, bundled = tmp_path / "own", tmp_path / "bundled"
    own.touch(0o755)
    bundled.touch()

    def which(name: str) -> str | None:
        return {"chromium-browser": "/somewhere/chromium-browser"}.get(name)

    assert find_browser(str(own), str(bundled)) == str(own)
    assert find_browser(None, str(bundled), which) == str(bundled)
    assert find_browser(None, "/no", which) == "/somewhere/chromium-browser"


def test_none_says_what_was_tried_and_what_helps() -> None:
    with pytest.raises(ToolUnavailableError) as caught:
        find_browser(None, "/no/such", nothing)
    said = str(caught.value)
    assert "/no/such" in said
    assert "playwright install chromium" in said
    with pytest.raises(ToolUnavailableError, match="MANUS_BROWSER_PATH"):
        find_browser("/no/such", None, nothing)


async def test_a_browser_that_does_not_start_is_one_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no >&2\nexit 3\n")
    broken.chmod(0o755)
    session = new_session(tmp_path / "w", BrowserSettings(path=str(broken)))
    said = await Driver(session).fail("go_to_url", url="http://127.0.0.1:1/")
    assert "\n" not in said
    await session.close()
