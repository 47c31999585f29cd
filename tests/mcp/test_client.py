"""Tools of real servers: what comes back, what goes wrong, and what is left afterwards."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path

import psutil
import pytest

from state.errors import SettingsError
from state.mcp_settings import McpServer
from tests.helpers.acting import execute_alone
from tests.mcp.conftest import Connect, odd, odd_at_address
from tools.equip import equip
from tools.process_tree import MARK


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


async def test_a_tool_of_a_program(connect: Connect) -> None:
    catalog, _ = await connect(odd=odd())
    assert catalog.names()[0] == "terminate"
    assert "mcp_odd_add" in catalog.names()
    assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_tool_at_an_address(connect: Connect, kind: str) -> None:
    with odd_at_address(kind) as (url, _):
        transport = "sse" if kind == "sse" else None
        catalog, session = await connect(
            odd=McpServer.model_validate({"url": url, "transport": transport})
        )
        assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"
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


async def test_pictures_sounds_and_errors_are_kept(connect: Connect) -> None:
    catalog, session = await connect(odd=odd())
    seen = await catalog.execute("mcp_odd_picture")
    assert [image.mime for image in seen.images] == ["image/png"]
    heard = await catalog.execute("mcp_odd_sound")
    first, second = heard.text.splitlines()
    assert first == "hear:"
    kept = second.rpartition(" in ")[2].rstrip("]")
    assert (session.workspace.root / kept).read_bytes() == b"RIFF"
    failed = await catalog.execute("mcp_odd_fail")
    assert failed.is_error
    assert "the tide is out" in failed.text
    unfit = await catalog.execute("mcp_odd_add", {"a": "x"})
    assert unfit.is_error
    assert "valid integer" in unfit.text


async def test_ten_megabytes_are_cut_like_any_observation(connect: Connect) -> None:
    catalog, session = await connect(odd=odd())
    tool = catalog.find("mcp_odd_large")
    assert tool is not None
    text = str((await execute_alone(session, tool, {})).message.text)
    assert len(text) <= 10_000
    assert "of 10,000,000 characters left out" in text


async def test_ten_megabytes_from_an_address(connect: Connect) -> None:
    with odd_at_address("http") as (url, _):
        catalog, session = await connect(odd=McpServer(url=url))
        assert len((await catalog.execute("mcp_odd_large")).text) == 10_000_000
        await session.close()


async def test_a_call_during_which_the_server_dies_is_not_made_twice(connect: Connect) -> None:
    catalog, session = await connect(odd=odd())
    died = await catalog.execute("mcp_odd_note_and_die", {"line": "once"})
    assert died.is_error
    assert "ended before it answered. The call may have taken effect" in died.text
    assert (session.workspace.root / "noted").read_text() == "once\n"
    # the next call starts it again
    assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"


async def test_a_server_that_died_between_two_calls_is_connected_again(connect: Connect) -> None:
    catalog, _ = await connect(odd=odd())
    [server] = running_servers()
    server.kill()
    psutil.wait_procs([server])
    said = [await catalog.execute("mcp_odd_add", {"a": 2, "b": 3}) for _ in range(2)]
    assert said[-1].text == "5"


async def test_a_server_at_an_address_that_was_started_again(connect: Connect) -> None:
    with odd_at_address("http") as (url, port):
        catalog, session = await connect(odd=McpServer(url=url))
    gone = await catalog.execute("mcp_odd_note", {"line": "x"})
    assert gone.is_error
    assert "`odd`" in gone.text
    with odd_at_address("http", port):
        assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"
        await session.close()


@pytest.mark.parametrize("tool", ["hang", "freeze"])
async def test_a_server_that_hangs_is_given_up(connect: Connect, tool: str) -> None:
    catalog, session = await connect(odd=odd(call_timeout=0.5))
    said = await catalog.execute(f"mcp_odd_{tool}")
    assert said.is_error
    assert "did not answer within 0.5 s" in said.text
    session.peek("mcp:odd").settings = odd()
    assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"


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
    await equip(catalog, session)  # the next step: not tried again
    assert {name.split("_")[1] for name in catalog.names() if "mcp" in name} == {"odd"}
    lines = sorted(r.message for r in caplog.records if r.levelno >= logging.WARNING)
    assert [line.split("`")[1] for line in lines] == ["failing", "missing", "nowhere", "silent"]
    assert "it ended at once (it said: no key)" in lines[0]
    assert "did not answer within 0.3 s" in lines[3]


async def test_tools_that_change_are_noticed(connect: Connect) -> None:
    catalog, session = await connect(odd=odd())
    assert catalog.find("mcp_odd_grown") is None
    await catalog.execute("mcp_odd_grow")
    await equip(catalog, session)
    assert (await catalog.execute("mcp_odd_grown")).text == "grown"
    names = [schema["function"]["name"] for schema in catalog.schemas()]
    assert names.count("mcp_odd_grown") == 1


async def test_no_process_is_left(connect: Connect) -> None:
    catalog, session = await connect(odd=odd())
    servers = running_servers()
    assert servers
    child = int((await catalog.execute("mcp_odd_leave_a_child")).text)
    assert MARK in psutil.Process(child).environ()
    await session.close()
    assert not lives(child)
    assert not any(lives(server.pid) for server in servers)


async def test_a_program_gets_what_it_is_given_and_no_secret_of_ours(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    await connect(odd=odd(env={"GIVEN": "for the server"}))
    [server] = running_servers()
    environment = server.environ()
    assert environment["GIVEN"] == "for the server"
    assert "OPENAI_API_KEY" not in environment


@pytest.mark.slow
async def test_the_protocols_own_servers(
    connect: Connect, npm_servers: Path, tmp_path: Path
) -> None:
    every = str(npm_servers / "server-everything" / "dist" / "index.js")
    files = str(npm_servers / "server-filesystem" / "dist" / "index.js")
    (tmp_path / "workspace").mkdir(exist_ok=True)
    (tmp_path / "workspace" / "a.txt").write_text("héllo")
    catalog, _ = await connect(
        **{
            "every.thing": McpServer(command="node", args=(every, "stdio")),
            "files": McpServer(command="node", args=(files, str(tmp_path / "workspace"))),
        }
    )
    echo = await catalog.execute("mcp_every_thing_echo", {"message": "hi"})
    assert echo.text == "Echo: hi"
    image = await catalog.execute("mcp_every_thing_get-tiny-image")
    assert [i.mime for i in image.images] == ["image/png"]
    read = await catalog.execute(
        "mcp_files_read_text_file", {"path": str(tmp_path / "workspace" / "a.txt")}
    )
    assert read.text == "héllo"
    refused = await catalog.execute("mcp_files_list_directory", {"path": "/etc"})
    assert refused.is_error
    assert "Access denied" in refused.text
