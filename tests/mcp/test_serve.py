"""This program as an MCP server, with the protocol's own client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from manus.mcp.http import serve_http
from manus.mcp.listing import list_servers
from manus.mcp.serve import build_server
from manus.state.errors import UsageError
from manus.state.settings import Settings
from manus.tools.workspace import Workspace
from tests.mcp.conftest import ODD, odd
from tests.server import ScriptedServer, replies

COMMAND = ["-m", "manus", "mcp", "serve", "--profile", "swe", "--workspace", "work"]
ROOT = str(Path(__file__).parents[2])


def environment(tmp_path: Path, base_url: str = "", **more: str) -> dict[str, str]:
    model = {"MANUS_MODEL": "scripted", "MANUS_BASE_URL": base_url} if base_url else {}
    kept = str(tmp_path / "threads.sqlite")
    return {**os.environ, "PYTHONPATH": ROOT, "MANUS_CHECKPOINT": kept, **model, **more}


@asynccontextmanager
async def over_stdio(
    tmp_path: Path, base_url: str = "", command: Sequence[str] = COMMAND
) -> AsyncIterator[ClientSession]:
    parameters = StdioServerParameters(
        command=sys.executable, args=[*command], cwd=tmp_path, env=environment(tmp_path, base_url)
    )
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@contextmanager
def served_over_http(tmp_path: Path, base_url: str = "", **more: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, *COMMAND, "--http", "--port", "0"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path, base_url, **more),
    )
    with process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().rpartition(" ")[2].strip()
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        finally:
            process.kill()


def said(result: object) -> str:
    return "\n".join(part.text for part in result.content)  # type: ignore[attr-defined]


async def test_tools_work_in_one_session(tmp_path: Path) -> None:
    async with over_stdio(tmp_path) as session:
        offered = [tool.name for tool in (await session.list_tools()).tools]
        assert offered == ["agent", "flow", "bash", "str_replace_editor"]
        await session.call_tool("bash", {"command": "x=5; echo 1 > a.txt"})
        assert said(await session.call_tool("bash", {"command": "echo $x"})).startswith("5\n")
        unfit = await session.call_tool("bash", {"comand": "ls"})
        assert unfit.isError
        assert "did you mean `command`?" in said(unfit)
        assert (await session.call_tool("nothing", {})).isError
    assert (tmp_path / "work" / "a.txt").read_text() == "1\n"


async def test_the_agent_tells_its_progress(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(
        replies.call("bash", command="echo hello"),
        replies.text("It says hello."),
    )
    lines: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        lines.append(str(message))

    async with over_stdio(tmp_path, server.base_url) as session:
        result = await session.call_tool("agent", {"request": "Greet."}, progress_callback=hear)
        assert said(result) == "It says hello."
        assert not result.isError
        assert result.structuredContent is not None
        assert result.structuredContent["stop_reason"] == "answered"
        neither = await session.call_tool("agent", {})
        assert neither.isError
        assert "Step 1/20" in lines
        assert "bash: echo hello" in lines
        assert any(line.startswith("bash done: hello") for line in lines)

        lines.clear()
        server.script(
            replies.call("planning", command="create", plan_id="p", title="Tea", steps=["Boil"]),
            replies.calls(replies.call("terminate", status="success"), text="It boils."),
            replies.text("There is tea."),
        )
        result = await session.call_tool("flow", {"request": "Tea."}, progress_callback=hear)
        assert said(result) == "There is tea."
        assert result.structuredContent is not None
        [step] = result.structuredContent["plan"]["steps"]
        assert step["status"] == "completed"
    assert "Plan: Tea, 1 steps" in lines
    assert "Plan step 0: completed" in lines
    assert lines.index("Plan step 0: in_progress") < lines.index("It boils.")


async def test_a_question_comes_back_and_is_answered(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(replies.call("ask_human", inquire="Which colour?"), replies.text("Blue it is."))
    command = [*COMMAND[:-4], "--workspace", "work"]
    async with over_stdio(tmp_path, server.base_url, command) as session:
        waiting = await session.call_tool("agent", {"request": "Paint."})
        assert not waiting.isError
        assert said(waiting).startswith("Which colour?")
        assert waiting.structuredContent is not None
        thread = waiting.structuredContent["thread_id"]
        ended = await session.call_tool("agent", {"thread": thread, "answer": "blue"})
        assert said(ended) == "Blue it is."


async def test_streamable_http_with_a_token(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(replies.text("Good day."))
    bearing = {"Authorization": "Bearer secret"}
    with served_over_http(tmp_path, server.base_url, MANUS_MCP_TOKEN="secret") as url:
        lines: list[str] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            lines.append(str(message))

        async with (
            httpx.AsyncClient(headers=bearing, timeout=60) as client,
            streamable_http_client(url, http_client=client) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            result = await session.call_tool("agent", {"request": "Hi"}, progress_callback=hear)
            assert said(result) == "Good day."
            assert lines[0] == "Step 1/20"
        async with httpx.AsyncClient(timeout=60) as stranger:
            assert (await stranger.post(url, json={})).status_code == 401
            # a page of a foreign name that leads here
            foreign = {"Host": "evil.example", **bearing}
            assert (await stranger.post(url, json={}, headers=foreign)).status_code == 421


async def test_a_token_is_made_where_none_is_set(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, *COMMAND, "--http", "--port", "0"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    with process:
        assert process.stderr is not None
        try:
            url = process.stderr.readline().rpartition(" ")[2].strip()
            token = process.stderr.readline().rpartition(" ")[2].strip()
            async with httpx.AsyncClient(timeout=60) as client:
                assert (await client.post(url, json={})).status_code == 401
                bearing = {"Authorization": f"Bearer {token}"}
                assert (await client.post(url, json={}, headers=bearing)).status_code != 401
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()


async def test_no_open_door_without_a_token(tmp_path: Path) -> None:
    server = build_server(Settings(), "swe", Workspace(tmp_path / "work"))
    with pytest.raises(UsageError, match="set MANUS_MCP_TOKEN"):
        await serve_http(server, "0.0.0.0", 0)


def test_the_list_of_servers(tmp_path: Path) -> None:
    arguments = json.dumps([ODD, "stdio"])
    (tmp_path / "manus.toml").write_text(
        f"[mcp.odd]\ncommand = {json.dumps(sys.executable)}\nargs = {arguments}\n"
        "connect_timeout = 90\n"
        '[mcp.down]\nurl = "http://127.0.0.1:9/mcp"\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "manus", "mcp", "list", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(tmp_path),
    )
    assert done.returncode == 1, done.stderr
    found = {server["name"]: server for server in json.loads(done.stdout)}
    assert "mcp_odd_add" in [tool["name"] for tool in found["odd"]["tools"]]
    assert "cannot be reached" in found["down"]["problem"]


async def test_the_list_when_all_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert await list_servers(Settings(mcp={"odd": odd()}), as_json=False) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"odd  stdio  {sys.executable}  ready"
    assert "  mcp_odd_add  Add two numbers." in printed


async def test_the_browser_shows_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "index.html").write_text("<title>Shop</title><button>Buy it</button>")
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    place = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=place.serve_forever, daemon=True).start()
    (tmp_path / "manus.toml").write_text('[egress]\nallow_private = ["127.0.0.1"]\n')
    command = [*COMMAND[:5], "browser", *COMMAND[6:]]
    async with over_stdio(tmp_path, command=command) as session:
        arguments = {"action": "go_to_url", "url": f"http://127.0.0.1:{place.server_port}/"}
        assert 'button "Buy it"' in said(await session.call_tool("browser_use", arguments))
    place.shutdown()
    place.server_close()
