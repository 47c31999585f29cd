"""A server that the agent starts is reached by its browser; nothing else on loopback is."""

import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manus.tools.bash import Bash
from manus.tools.python_execute import PythonExecute
from manus.tools.sandbox.sandbox import sandbox_of
from manus.tools.session import Session
from tests.browser.driver import Driver
from tests.browser.site import Site
from tests.helpers.sessions import session_in

SERVE = (
    "python3 -m http.server 8000 >server.log 2>&1 &\n"
    "until (: </dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.1; done"
)


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A session with the settings that a user has who set nothing."""
    session = session_in(tmp_path)
    yield session
    await session.close()


async def require_network(session: Session) -> None:
    if (await sandbox_of(session)).network is None:
        pytest.skip("no bubblewrap here")


async def test_a_server_of_the_shell_is_reached_and_none_of_the_machine(session: Session) -> None:
    """Also by a browser that was open before there was a sandbox."""
    driver = Driver(session)
    await driver.open("about:blank")
    await require_network(session)
    root, more = session.workspace.root, '<input id="q"><a href="b.html">On</a>'
    (root / "index.html").write_text(f"<title>Home</title><h1>Built here</h1>{more}")
    (root / "b.html").write_text("<title>Second</title><p>Arrived")
    assert not (await Bash(session=session).observe(command=SERVE)).is_error
    for url in ("localhost:8000", "http://127.0.0.1:8000"):
        assert "Built here" in await driver.open(url)
    await driver.click('link "On"')
    assert "Arrived" in driver.text
    with contextlib.closing(Site()) as site:
        assert "egress" in await driver.fail("go_to_url", url=site.base)
        assert not site.requests


async def test_the_host_that_was_not_reached_is_named(session: Session) -> None:
    await require_network(session)
    python = PythonExecute(session=session)
    code = "import urllib.request as u\nu.urlopen('http://10.1.2.3/', timeout=20)"
    said = await python.observe(code=code)
    assert said.is_error
    assert re.search(r"10\.1\.2\.3.*egress", said.text.splitlines()[-1])
    assert "10.1.2.3" not in (await python.observe(code="1")).text
