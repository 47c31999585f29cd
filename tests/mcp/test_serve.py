"""This program as an MCP server, with the protocol's own client."""

import asyncio
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from mcp.shared.memory import create_client_server_memory_streams

from manus.cli.commands.mcp import list_servers
from manus.config.mcp_settings import McpServer
from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.mcp_server import TOKEN, open_tools, serve_http
from manus.state.errors import UsageError
from manus.tools.mcp.sdk import connect_address, serve_streams
from manus.workspace.workspace import Workspace
from tests.cli.program import wait_for_file
from tests.helpers.processes import processes_in, until
from tests.helpers.sandboxes import Kind, with_sandbox
from tests.helpers.tools import RED_DOT
from tests.mcp.client import Client, get_text, open_client
from tests.mcp.conftest import ODD, odd
from tests.server import ScriptedServer, replies

COMMAND = ["-m", "manus", "mcp", "serve", "--profile", "swe", "--workspace", "work"]

Serve = Callable[[str], AbstractAsyncContextManager[Client]]


pytestmark = pytest.mark.environ(MANUS_MODEL="scripted", PYTHONPATH=str(Path(__file__).parents[2]))


@pytest.fixture
def environment(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("MANUS_BASE_URL", server.base_url)
    return {**os.environ}


@pytest.fixture
def served(tmp_path: Path, environment: dict[str, str]) -> Serve:
    """Provide a client of a server in this process, which serves a profile."""

    @asynccontextmanager
    async def serving(profile: str) -> AsyncIterator[Client]:
        workspace = Workspace(tmp_path / "work")
        workspace.prepare()
        opening = partial(open_tools, with_sandbox(Settings()), profile, workspace)
        async with create_client_server_memory_streams() as (client_streams, server_streams):
            server = asyncio.create_task(serve_streams(opening, server_streams))
            async with open_client(client_streams) as client:
                yield client
            await client_streams[1].aclose()
            await server

    return serving


class Heard(list[str]):
    """The reported lines of progress."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.append(str(message))


async def test_tools_work_in_one_session(served: Serve, tmp_path: Path) -> None:
    async with served("swe") as client:
        (tmp_path / "work/dot.png").write_bytes(base64.b64decode(RED_DOT))
        assert await client.list_tools() == ["bash", "str_replace_editor", "run"]
        await client.call_tool("bash", {"command": "x=5; echo 1 > a.txt"})
        assert get_text(await client.call_tool("bash", {"command": "echo $x"})).startswith("5\n")
        unfit = await client.call_tool("bash", {"comand": "ls"})
        assert unfit["isError"]
        assert "`command`?" in get_text(unfit)
        assert (await client.call_tool("nothing", {}))["isError"]
        result = await client.call_tool(
            "str_replace_editor", {"command": "view", "path": "dot.png"}
        )
        assert [p["mimeType"] for p in result["content"] if p["type"] == "image"] == ["image/png"]
    assert (tmp_path / "work" / "a.txt").read_text() == "1\n"


async def test_runs_report_their_progress_and_ask(served: Serve, server: ScriptedServer) -> None:
    server.script(replies.call("bash", command="echo hello"), replies.text("It says hello."))
    lines = Heard()
    async with served("manus") as client:
        result = await client.call_tool("run", {"request": "Greet."}, progress_callback=lines)
        assert (get_text(result), result["isError"]) == ("It says hello.", False)
        assert result["structuredContent"]["stop_reason"] == "answered"
        assert (await client.call_tool("run", {}))["isError"]
        assert lines == ["bash: echo hello"]

        server.script(
            replies.call("planning", command="create", plan_id="p", title="Tea", steps=["Boil"]),
            replies.calls(replies.call("terminate", status="success"), text="It boils."),
            replies.text("There is tea."),
        )
        result = await client.call_tool("run", {"request": "Tea.", "plan": True})
        assert get_text(result) == "There is tea."
        [step] = result["structuredContent"]["plan"]["steps"]
        assert step["status"] == "completed"

        colour = replies.call("ask_human", inquire="Which colour?")
        server.script(colour, replies.text("Blue it is."))
        waiting = await client.call_tool("run", {"request": "Paint."})
        assert not waiting["isError"]
        assert get_text(waiting).startswith("Which colour?")
        thread = waiting["structuredContent"]["thread_id"]
        answer = await client.call_tool("run", {"thread": thread, "request": "blue"})
        assert get_text(answer) == "Blue it is."


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
OPENING: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": HELLO},
    {"method": "notifications/initialized"},
]


def build_bash_call(command: str) -> dict[str, Any]:
    shell = {"name": "bash", "arguments": {"command": command}}
    return {"id": 2, "method": "tools/call", "params": shell}


class Pipes:
    """A client of a server over pipes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.stdin, self.stdout = process, process.stdin, process.stdout

    def send(self, *messages: dict[str, Any]) -> None:
        lines = (json.dumps({"jsonrpc": "2.0", **message}) for message in messages)
        self.stdin.write("\n".join([*lines, ""]))
        self.stdin.flush()

    def answer(self) -> Any:
        return json.loads(self.stdout.readline())


@pytest.fixture
def pipes(tmp_path: Path, environment: dict[str, str]) -> Iterator[Pipes]:
    """Provide a server over pipes; its stderr goes to the file `err`."""
    streams: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, *COMMAND]
    with (
        (tmp_path / "err").open("w") as err,
        subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=err, **streams) as process,
    ):
        try:
            yield Pipes(process)
        finally:
            process.kill()


def test_over_pipes_until_a_signal(pipes: Pipes) -> None:
    pipes.send(*OPENING, build_bash_call("echo $$"))
    answers = [pipes.answer() for _ in range(2)]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert "[exit code 0]" in answers[1]["result"]["content"][0]["text"]
    started = psutil.Process(pipes.process.pid).children(recursive=True)
    assert started
    pipes.process.send_signal(signal.SIGTERM)
    assert pipes.process.wait(60) == 0
    _, remaining = psutil.wait_procs(started, timeout=10)
    assert remaining == []


@pytest.mark.parametrize("private", [("stdin",), ("stdout",), ("stdout", "stdin")])
@pytest.mark.parametrize(
    "when", [pytest.param("greeted", marks=pytest.mark.exhaustive), "in a call"]
)
async def test_a_client_that_disconnects_ends_the_server_silently(
    pipes: Pipes, tmp_path: Path, when: str, private: tuple[str, ...]
) -> None:
    pipes.send(*OPENING)
    assert pipes.answer()["id"] == 1
    if when == "in a call":
        pipes.send(build_bash_call("echo 1 > begun; until [ -e go ]; do sleep 0.05; done"))
        wait_for_file(tmp_path / "work" / "begun")
    for name in private:
        getattr(pipes, name).close()
    if private == ("stdout",):  # noticed at the next reply
        (tmp_path / "work" / "go").write_text("")
        pipes.send({"id": 3, "method": "tools/list"})
    assert pipes.process.wait(60) == 0
    assert (tmp_path / "err").read_text() == ""
    await until(lambda: not processes_in(tmp_path))


async def test_over_http_with_a_generated_token(
    tmp_path: Path, environment: dict[str, str], server: ScriptedServer
) -> None:
    server.script(replies.call("bash", command="true"), replies.text("Good day."))
    process = subprocess.Popen(
        [sys.executable, *COMMAND, "--http", "--port", "0"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with process:
        assert process.stderr is not None
        try:
            url, token = (process.stderr.readline().rpartition(" ")[2].strip() for _ in range(2))
            bearing = {"Authorization": f"Bearer {token}"}
            lines = Heard()
            options = {"headers": bearing, "timeout": 60}
            async with (
                connect_address(url, "http", options) as streams,
                open_client(streams) as session,
            ):
                result = await session.call_tool("run", {"request": "Hi"}, progress_callback=lines)
                assert get_text(result) == "Good day."
                assert lines == ["bash: true"]
            async with httpx.AsyncClient(timeout=60) as stranger:
                assert (await stranger.post(url, json={})).status_code == 401
                # a page from another origin that leads here
                foreign = {"Host": "evil.example", **bearing}
                assert (await stranger.post(url, json={}, headers=foreign)).status_code == 403
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()


async def test_no_remote_access_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    server = partial(open_tools, Settings(), "swe", Workspace("work"))
    with pytest.raises(UsageError, match=TOKEN):
        await serve_http(server, "0.0.0.0", 0)
    monkeypatch.setenv(TOKEN, "secret")
    with pytest.raises(UsageError, match=r"203\.0\.113\.1:80"):
        await serve_http(server, "203.0.113.1", 80)


@pytest.mark.sandboxes
async def test_the_list_has_servers_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox_kind: Kind
) -> None:
    (tmp_path / ".git").mkdir()  # so that it is the workspace
    shutil.copy(ODD, tmp_path / "mine.py")
    monkeypatch.chdir(tmp_path)
    mine = odd(args=("./mine.py", "stdio"), directory=None)
    settings = Settings(mcp={"mine": mine}, sandbox=SandboxSettings(kind=sandbox_kind))
    assert await list_servers(settings)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "mine.py"]


async def test_the_list_of_servers(capsys: pytest.CaptureFixture[str]) -> None:
    down = McpServer(url="http://127.0.0.1:9/mcp")
    settings = Settings(mcp={"odd": odd(sandbox=False), "down": down})
    assert not await list_servers(settings)
    out = capsys.readouterr().out
    assert "\n  mcp_odd_add  " in out
    assert re.search(r"^down  .*  not available: .*cannot be reached", out, re.MULTILINE)
    off = down.model_copy(update={"enabled": False})
    assert await list_servers(Settings(mcp={"down": off}))
    assert capsys.readouterr().out.endswith("  disabled\n")
