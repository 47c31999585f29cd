"""Clicking the same element again and again in a run: progress where the page changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from manus.graph.profiles import BROWSER
from manus.sqlite import SqliteStore
from tests.browser.site import Site
from tests.browser.test_fingerprint import CALENDAR, CAROUSEL, COUNTER, LIST
from tests.helpers.agent import ScriptedAgent
from tests.server import ScriptedServer, call

CLICK = call("browser_use", action="click_element", index=1)
DONE = call("terminate", status="success", answer="Done.")


@pytest.fixture
def surfer(
    server: ScriptedServer, saver: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ScriptedAgent:
    """An agent of the profile `browser`, which may go to loopback and sees no pictures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MANUS_VISION", "false")
    (tmp_path / "manus.toml").write_text('[egress]\nallow_private = ["127.0.0.1"]\n')
    return ScriptedAgent(server, tmp_path / "workspace", saver, BROWSER)


@pytest.mark.parametrize("page", [CALENDAR, COUNTER, CAROUSEL, LIST])
async def test_what_brings_something_each_time_is_no_loop(
    surfer: ScriptedAgent, new_site: Callable[..., Site], page: str
) -> None:
    site = new_site()
    site.pages["/"] = page
    goes = call("browser_use", action="go_to_url", url=site.base)
    outcome = await surfer.run(goes, *[CLICK] * 10, DONE)
    assert (outcome.stop_reason, outcome.success) == ("terminated", True)
    assert outcome.usage["tool_calls"] == 12, "none was refused"
    assert not any("stuck in a loop" in request.text for request in surfer.server.requests)


async def test_a_button_without_effect_is_hinted_at_and_then_refused(
    surfer: ScriptedAgent, new_site: Callable[..., Site]
) -> None:
    site = new_site()
    site.pages["/"] = "<title>Still</title><p>Nothing moves.</p><button>Nothing</button>"
    goes = call("browser_use", action="go_to_url", url=site.base)
    outcome = await surfer.run(goes, *[CLICK] * 6)
    assert outcome.stop_reason == "stuck"
    hinted = ["stuck in a loop" in r.text for r in surfer.server.requests]
    assert hinted.index(True) == 4, "after the third click"
    refused = [o.startswith("Not executed") for o in await surfer.observations()]
    assert refused == [False] * 5 + [True] * 2
