"""Tools of real servers: what comes back, what goes wrong, and what is left afterwards."""

from __future__ import annotations

import contextlib
import logging

import psutil
import pytest

from manus.state.errors import SettingsError
from manus.state.mcp_settings import McpServer
from manus.tools.base import AgentTool
from manus.tools.load_mcp_tools import load_mcp_tools
from tests.mcp.conftest import Connect, odd, odd_at_address


def lives(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def running_servers() -> list[psutil.Process]:
    """The servers that this process has started; other tests' children are not counted."""
    return [process for process in psutil.Process().children() if is_server(process)]


def is_server(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return "odd_server.py" in str(process.cmdline())
    return False


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_tool_at_an_address(connect: Connect, kind: str) -> None:
    with odd_at_address(kind) as (url, _):
        transport = "sse" if kind == "sse" else None
        catalog, session = await connect(
            odd=McpServer.model_validate({"url": url, "transport": transport})
        )
        assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"
        assert len((await catalog.execute("mcp_odd_large")).text) == 10_000_000
        assert (await catalog.execute("mcp_odd_roots")).is_error  # not told of folders of ours
        await session.close()


async def test_a_token_is_sent_and_its_absence_is_said(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("THE_TOKEN", "open sesame")
    with odd_at_address("http", TOKEN="open sesame") as (url, _):
        given = {"url": url, "token": "${THE_TOKEN}"}
        catalog, session = await connect(
            mine=McpServer.model_validate(given), other=McpServer(url=url)
        )
        assert (await catalog.execute("mcp_mine_add", {"a": 2, "b": 3})).text == "5"
        assert not any(name.startswith("mcp_other") for name in catalog.names())
        await session.close()
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == [
        f"The MCP server `other` ({url}) cannot be used: it answers 401 Unauthorized. "
        "The run goes on without it."
    ]


def test_a_variable_that_is_not_set_is_an_error() -> None:
    server = McpServer.model_validate({"url": "http://localhost/mcp", "token": "${NOT_SET}"})
    with pytest.raises(SettingsError, match="NOT_SET"):
        server.all_headers({})


async def test_servers_that_are_down_cost_a_line_each(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    catalog, session = await connect(
        odd=odd(),
        missing=McpServer(command="no-such-program"),
        silent=McpServer(command="sleep", args=("600",), connect_timeout=0.3),
        failing=McpServer(command="sh", args=("-c", "echo no key >&2; exit 3")),
        nowhere=McpServer(url="http://127.0.0.1:9/mcp"),
        off=McpServer(url="http://127.0.0.1:9/mcp", enabled=False),
    )
    await load_mcp_tools(catalog, session)  # the next step: not tried again
    assert {name.split("_")[1] for name in catalog.names() if "mcp" in name} == {"odd"}
    lines = sorted(r.message for r in caplog.records if r.levelno >= logging.WARNING)
    assert [line.split("`")[1] for line in lines] == ["failing", "missing", "nowhere", "silent"]
    assert "it ended at once (it said: no key)" in lines[0]
    assert "did not answer within 0.3 s" in lines[3]


async def test_tools_that_change_are_noticed(connect: Connect) -> None:
    catalog, session = await connect(odd=odd())
    assert catalog.find("mcp_odd_grown") is None
    await catalog.execute("mcp_odd_grow")
    await load_mcp_tools(catalog, session)
    assert (await catalog.execute("mcp_odd_grown")).text == "grown"
    names = [schema["function"]["name"] for schema in catalog.schemas()]
    assert names.count("mcp_odd_grown") == 1


async def test_a_server_that_died_is_started_again_and_no_call_made_twice(connect: Connect) -> None:
    catalog, session = await connect(odd=odd())
    died = await catalog.execute("mcp_odd_note_and_die", {"line": "once"})
    assert died.is_error
    assert "ended before it answered. The call may have taken effect" in died.text
    assert (session.workspace.root / "noted").read_text() == "once\n"
    # the next call starts it again; so does one after it died between two calls
    assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"
    [server] = running_servers()
    server.kill()
    psutil.wait_procs([server])
    said = [await catalog.execute("mcp_odd_add", {"a": 2, "b": 3}) for _ in range(2)]
    assert said[-1].text == "5"


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_at_an_address_that_was_started_again(connect: Connect, kind: str) -> None:
    with odd_at_address(kind) as (url, port):
        given = {"url": url, "transport": kind}
        catalog, session = await connect(odd=McpServer.model_validate(given))
    gone = await catalog.execute("mcp_odd_note", {"line": "x"})
    assert gone.is_error
    assert "`odd`" in gone.text
    with odd_at_address(kind, port):
        assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"
        await session.close()


async def test_a_server_that_hangs_is_given_up(connect: Connect) -> None:
    catalog, session = await connect(odd=odd(call_timeout=0.5))
    [first] = running_servers()
    for tool in ("hang", "freeze"):  # after the first it still answers others, after this nobody
        said = await catalog.execute(f"mcp_odd_{tool}")
        assert said.is_error
        assert "did not answer within 0.5 s" in said.text
    assert not lives(first.pid)
    session.peek("mcp:odd").settings = odd()
    assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"


async def test_what_a_program_gets_and_that_it_ends_with_the_session(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    catalog, session = await connect(odd=odd(env={"GIVEN": "for the server"}, roots=()))
    [server] = running_servers()
    environment = server.environ()
    assert environment["GIVEN"] == "for the server"
    assert "OPENAI_API_KEY" not in environment
    assert (await catalog.execute("mcp_odd_roots")).is_error
    await session.close()
    assert not lives(server.pid)


async def test_only_the_settings_call_a_tool_read_only(connect: Connect) -> None:
    """The server says so of `add` itself."""
    catalog, session = await connect(odd=odd(), trusted=odd(read_only=["add"]))
    said = {name: catalog.find(name) for name in ("mcp_odd_add", "mcp_trusted_add")}
    assert {name: isinstance(t, AgentTool) and t.read_only({}) for name, t in said.items()} == {
        "mcp_odd_add": False,
        "mcp_trusted_add": True,
    }
    await session.close()
