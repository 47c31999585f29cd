"""The servers that the protocol's authors give away, over each transport."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from manus.state.mcp_settings import McpServer
from tests.mcp.conftest import Connect

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@contextmanager
def everything_at_address(folder: Path, kind: str) -> Iterator[str]:
    """`server-everything` at an address; it is killed at the end."""
    program = str(folder / "server-everything" / "dist" / "index.js")
    process = subprocess.Popen(
        ["node", program, kind],
        env={**os.environ, "PORT": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if "on port" in line:
                    break
            [port] = {
                connection.laddr.port
                for connection in psutil.Process(process.pid).net_connections("tcp")
                if connection.status == psutil.CONN_LISTEN
            }
            yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
        finally:
            process.kill()


@pytest.mark.parametrize("kind", ["streamableHttp", "sse"])
async def test_everything_at_an_address(connect: Connect, npm_servers: Path, kind: str) -> None:
    with everything_at_address(npm_servers, kind) as url:
        transport = "sse" if kind == "sse" else "http"
        catalog, session = await connect(
            every=McpServer.model_validate({"url": url, "transport": transport})
        )
        echo = await catalog.execute("mcp_every_echo", {"message": "海"})
        assert echo.text == "Echo: 海"
        image = await catalog.execute("mcp_every_get-tiny-image")
        assert [i.mime for i in image.images] == ["image/png"]
        long = {"duration": 1, "steps": 2}
        worked = await catalog.execute("mcp_every_trigger-long-running-operation", long)
        assert "completed" in worked.text
        await session.close()


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
    links = await catalog.execute("mcp_every_thing_get-resource-links", {"count": 2})
    assert links.text.count("[resource ") == 2
    given = {"resourceType": "Text", "resourceId": 1}
    embedded = await catalog.execute("mcp_every_thing_get-resource-reference", given)
    assert "[resource demo://resource/" in embedded.text
