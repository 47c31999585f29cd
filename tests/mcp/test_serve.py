"""This program as an MCP server, with the protocol's own client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.server import ScriptedServer, replies

COMMAND = ["-m", "manus", "mcp", "serve", "--profile", "swe", "--workspace", "work"]
ROOT = str(Path(__file__).parents[2])


def environment(tmp_path: Path, base_url: str = "", **more: str) -> dict[str, str]:
    model = {"MANUS_MODEL": "scripted", "MANUS_BASE_URL": base_url} if base_url else {}
    kept = str(tmp_path / "threads.sqlite")
    return {**os.environ, "PYTHONPATH": ROOT, "MANUS_CHECKPOINT": kept, **model, **more}


@asynccontextmanager
async def over_stdio(tmp_path: Path, base_url: str = "") -> AsyncIterator[ClientSession]:
    parameters = StdioServerParameters(
        command=sys.executable, args=COMMAND, cwd=tmp_path, env=environment(tmp_path, base_url)
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
            process.wait(20)
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


async def test_streamable_http(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(replies.text("Good day."))
    with served_over_http(tmp_path, server.base_url) as url:
        lines: list[str] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            lines.append(str(message))

        async with (
            streamable_http_client(url) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            result = await session.call_tool("agent", {"request": "Hi"}, progress_callback=hear)
            assert said(result) == "Good day."
            assert lines[0] == "Step 1/20"
        async with httpx.AsyncClient() as stranger:
            # a page of a foreign name that leads here
            answer = await stranger.post(url, json={}, headers={"Host": "evil.example"})
            assert answer.status_code == 421


async def test_a_token_is_asked_for(tmp_path: Path) -> None:
    with served_over_http(tmp_path, MANUS_MCP_TOKEN="secret") as url:
        async with httpx.AsyncClient() as client:
            assert (await client.post(url, json={})).status_code == 401
            bearing = {"Authorization": "Bearer secret"}
            assert (await client.post(url, json={}, headers=bearing)).status_code != 401


def test_no_open_door_without_a_token(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, *COMMAND, "--http", "--host", "0.0.0.0"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(tmp_path),
    )
    assert done.returncode == 2
    assert "set MANUS_MCP_TOKEN" in done.stderr


@pytest.mark.parametrize("up", [True, False])
def test_the_list_of_servers(tmp_path: Path, up: bool) -> None:
    odd = Path(__file__).with_name("odd_server.py")
    arguments = json.dumps([str(odd), "stdio"])
    text = f"[mcp.odd]\ncommand = {json.dumps(sys.executable)}\nargs = {arguments}\n"
    down = "" if up else '[mcp.down]\nurl = "http://127.0.0.1:9/mcp"\n'
    (tmp_path / "manus.toml").write_text(text + down)
    done = subprocess.run(
        [sys.executable, "-m", "manus", "mcp", "list", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(tmp_path),
    )
    assert done.returncode == (0 if up else 1), done.stderr
    found = {server["name"]: server for server in json.loads(done.stdout)}
    assert "mcp_odd_add" in [tool["name"] for tool in found["odd"]["tools"]]
    if not up:
        assert "cannot be reached" in found["down"]["problem"]
