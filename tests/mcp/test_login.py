"""Log in at a server with OAuth, use and refresh the token, log out."""

import json
import logging
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from manus.config.mcp_settings import McpServer
from manus.state.errors import ToolUnavailableError
from manus.tools.mcp.oauth import read_login, write_login
from manus.tools.mcp.transport import log_in_at
from tests.cli.program import Program
from tests.mcp.conftest import Connect
from tests.mcp.oauth_server import Accounts, oauth_server

Site = tuple[McpServer, Accounts]


@pytest.fixture
def site() -> Iterator[Site]:
    with oauth_server() as (url, accounts):
        yield McpServer(url=url), accounts


def visit(address: str) -> None:
    """Open an address as a browser does, and follow its redirects."""
    with suppress(HTTPError), urlopen(address) as response:
        response.read()


def url_of(server: McpServer) -> str:
    assert server.url is not None
    return server.url


async def test_a_login_is_used_refreshed_and_named_where_it_is_missing(
    connect: Connect, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    server, accounts = site
    catalog, _ = await connect(closed=server)
    assert catalog.names() == ["terminate"]
    assert not accounts.clients  # a run registers nothing
    await log_in_at(server, visit, 60)
    catalog, session = await connect(closed=server)

    async def add() -> str:
        return (await catalog.execute("mcp_closed_add", {"a": 2, "b": 3})).text

    assert await add() == "5"
    assert accounts.refresh_count == 0
    accounts.lifetime = 0  # each later token has expired when it arrives
    accounts.access.clear()  # the server forgets the tokens before their time
    assert await add() == "5"
    assert accounts.refresh_count == 1
    assert await add() == "5"
    assert accounts.refresh_count > 1
    accounts.lifetime = 3600
    accounts.refreshes.clear()
    await add()  # whether it had an effect is not known
    assert "run `manus mcp login closed` to log in" in await add()
    await session.close()
    lines = [r.message for r in caplog.records if r.name == "manus"]
    for line in lines:
        assert "401 Unauthorized; run `manus mcp login closed` to log in" in line
    catalog, _ = await connect(closed=server)
    assert catalog.names() == ["terminate"]
    tokens = [*accounts.access, *accounts.refreshes]
    assert not any(token in caplog.text for token in tokens)


async def test_a_token_that_another_process_has_refreshed_is_used(
    connect: Connect, site: Site
) -> None:
    server, accounts = site
    url = url_of(server)
    await log_in_at(server, visit, 60)
    old = read_login(url)
    accounts.access.clear()
    accounts.refreshes.clear()
    catalog, _ = await connect(closed=server)
    assert catalog.names() == ["terminate"]
    [client] = accounts.clients
    tokens = accounts.issue(client, None).model_dump(mode="json", exclude_none=True)
    write_login(url, old.model_copy(update={"tokens": tokens}))
    catalog, _ = await connect(closed=server)
    assert (await catalog.execute("mcp_closed_add", {"a": 2, "b": 3})).text == "5"


def ignore(_: str) -> None:
    """Close the browser."""


@pytest.mark.parametrize(
    ("answer", "browser", "reason"),
    [
        ("deny", visit, "The login was refused: Not today."),
        ("mix up", visit, "No login in the browser within 0.5 s"),
        ("allow", ignore, "No login in the browser within 0.5 s"),
    ],
)
async def test_a_failed_login_stores_nothing(
    site: Site,
    answer: str,
    browser: Callable[[str], None],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, accounts = site
    accounts.answer = answer
    with pytest.raises(ToolUnavailableError) as failure:
        await log_in_at(server, browser, 60 if answer == "deny" else 0.5)
    assert reason in str(failure.value)
    assert not accounts.access
    assert not read_login(url_of(server)).access_token
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


def test_commands_log_in_list_and_log_out(bare: Program, site: Site) -> None:
    server, accounts = site
    text = f'[mcp.closed]\nurl = "{server.url}"\n[mcp.local]\ncommand = "true"\nenabled = false\n'
    (bare.home / "manus.toml").write_text(text)
    opener = "from urllib.request import urlopen; import sys; urlopen(sys.argv[1]).read()"
    script = bare.home / "browser"
    script.write_text(f"#!{sys.executable}\n{opener}\n")
    script.chmod(0o700)
    result = bare("mcp", "login", "closed", DISPLAY=":0", BROWSER=str(script))
    assert result.code == 0, result.err
    assert "logged in" in result.err
    [record] = (bare.home / ".local/state/manus").glob("mcp-login-*")
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert json.loads(record.read_text())["tokens"]["access_token"] in accounts.access
    listed = bare("mcp", "list")
    assert f"closed  {server.url}  ready, logged in" in listed.out
    assert bare("mcp", "logout", "closed").code == 0
    listed = bare("mcp", "list")
    assert "run `manus mcp login closed` to log in" in listed.out
    assert listed.code == 1
    log = (bare.home / ".local/state/manus/log/manus.log").read_text()
    assert "access-" not in log + listed.err + result.err
    for name, reason in (("local", "is a program"), ("missing", "There is no MCP server")):
        refused = bare("mcp", "login", name)
        assert (refused.code, reason in refused.err) == (2, True)
