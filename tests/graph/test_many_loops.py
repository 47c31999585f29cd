"""Runs of one process in event loops of their own, as a script's calls of `asyncio.run` are."""

import asyncio
from pathlib import Path

import psutil
import pytest

from manus.graph import build_agent
from tests.server import ScriptedServer, text


def _open_to(server: ScriptedServer) -> int:
    connections = psutil.Process().net_connections("tcp")
    return sum(bool(one.raddr) and one.raddr.port == server.port for one in connections)


def test_a_loop_that_ends_leaves_no_connection_open(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_MODEL", "scripted")
    monkeypatch.setenv("MANUS_BASE_URL", server.base_url)
    open_in_run: list[int] = []

    async def run(request: str) -> str:
        context = {"workspace": str(tmp_path)}
        reached = await build_agent().ainvoke({"request": request}, context=context)
        open_in_run.append(_open_to(server))
        return str(reached["output"])

    for request in ("One.", "Two.", "Three."):
        server.script(text(request))
        assert asyncio.run(run(request)) == request
        assert _open_to(server) == 0
    assert open_in_run == [1, 1, 1]
