"""A server that the agent starts is reached by its browser; nothing else on loopback is."""

import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manus.tools.bash import Bash
from manus.tools.browser.state import browser_state
from manus.tools.browser_use import BrowserUse
from manus.tools.call import observe_call
from manus.tools.python_execute import PythonExecute
from manus.tools.result import Observation
from manus.tools.sandbox.sandbox import sandbox_of
from manus.tools.session import Session
from manus.tools.workspace import Workspace
from tests.browser.site import Site

SERVE = (
    "python3 -m http.server 8000 >server.log 2>&1 &\n"
    "until (: </dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.1; done"
)


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A session with the settings that a user has who set nothing."""
    workspace = Workspace(tmp_path)
    workspace.prepare()
    session = Session(workspace)
    session.page_is_prompted = True
    yield session
    await session.close()


async def shell(session: Session, command: str) -> Observation:
    return await observe_call(Bash(session=session), {"command": command})


async def browse(session: Session, action: str, **arguments: object) -> Observation:
    return await observe_call(BrowserUse(session=session), {"action": action, **arguments})


async def page(session: Session) -> str:
    state = await browser_state(session)
    assert state is not None
    return state.text


async def require_network(session: Session) -> None:
    if (await sandbox_of(session)).network is None:
        pytest.skip("no bubblewrap here")


async def test_a_server_of_the_shell_is_reached_and_none_of_the_machine(session: Session) -> None:
    """Also by a browser that was open before there was a sandbox."""
    await browse(session, "go_to_url", url="about:blank")
    await require_network(session)
    root, more = session.workspace.root, '<input id="q"><a href="b.html">On</a>'
    (root / "index.html").write_text(f"<title>Home</title><h1>Built here</h1>{more}")
    (root / "b.html").write_text("<title>Second</title><p>Arrived")
    assert not (await shell(session, SERVE)).is_error
    for url in ("localhost:8000", "http://127.0.0.1:8000"):
        opened = await browse(session, "go_to_url", url=url)
        assert not opened.is_error, opened.text
        shown = await page(session)
        assert "Built here" in shown
    link = re.search(r'\[(\d+)\] link "On"', shown)
    assert link
    clicked = await browse(session, "click_element", index=int(link[1]))
    assert not clicked.is_error, clicked.text
    assert "Arrived" in await page(session)
    with contextlib.closing(Site()) as site:
        opened = await browse(session, "go_to_url", url=site.base)
        assert opened.is_error, opened.text
        assert "egress" in opened.text
        assert not site.requests


ASK = "import urllib.request as u\nu.urlopen('http://{host}/', timeout=20)"


@pytest.mark.parametrize("tool", [Bash, PythonExecute])
async def test_the_host_that_was_not_reached_is_named(
    session: Session, tool: type[Bash | PythonExecute]
) -> None:
    await require_network(session)
    code = ASK.format(host="10.1.2.3")
    given = {"command": f'python3 -c "{code}"'} if tool is Bash else {"code": code}
    said = await observe_call(tool(session=session), given)
    assert said.is_error
    last = said.text.splitlines()[-1]
    assert "10.1.2.3" in last
    assert "egress" in last
    again = await observe_call(tool(session=session), {"command" if tool is Bash else "code": "1"})
    assert "10.1.2.3" not in again.text
