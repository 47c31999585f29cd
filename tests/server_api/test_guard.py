"""Who may ask the development server."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from manus.served import refusal
from manus.state.errors import UsageError
from tests.helpers.agent import ScriptedAgent
from tests.server_api.dev_server import DevServer

HERE = {"host": "127.0.0.1:2024", "content-type": "application/json", "content-length": "2"}
TOKEN = {"MANUS_SERVER_TOKEN": "secret"}
HEADS: list[tuple[dict[str, str], dict[str, str], bool]] = [
    ({}, {}, False),
    ({"origin": "http://localhost:3000"}, {}, False),
    ({"origin": "null"}, {}, True),
    ({"host": "agent.example"}, {"MANUS_ALLOWED_HOSTS": "agent.example"}, False),
    ({"host": "any.example"}, {"MANUS_ALLOWED_HOSTS": "*"}, False),
    ({"content-type": "application/json; charset=utf-8"}, {}, False),
    ({}, TOKEN, True),
    ({"authorization": "Bearer secret"}, TOKEN, False),
]


def test_by_its_head() -> None:
    for more, environment, refused in HEADS:
        said = refusal("POST", "/threads", {**HERE, **more}, environment)
        assert (said is not None) is refused, more


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_page_of_somebody_else_starts_no_run(dev: DevServer) -> None:
    url = f"{dev.url}/threads"
    async with httpx.AsyncClient() as client:
        plain = await client.post(url, content="{}", headers={"content-type": "text/plain"})
        foreign = await client.post(url, json={}, headers={"host": "evil.example"})
        page = await client.post(url, json={}, headers={"origin": "https://evil.example"})
        assert [r.status_code for r in (plain, foreign, page)] == [403] * 3
        fine = await client.post(url, json={}, headers={"origin": "https://smith.langchain.com"})
        assert fine.status_code == 200
        assert fine.headers["access-control-allow-origin"] == "https://smith.langchain.com"


async def test_a_request_names_files_below_the_root_only(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MANUS_SERVED_ROOT", str(tmp_path))
    config: Any = {"configurable": {"thread_id": "t", "assistant_id": "a"}}
    for chosen in ({"workspace": "/etc"}, {"record": "/etc/x"}, {"model": "replay:/etc/passwd"}):
        with pytest.raises(UsageError):
            await agent.graph.ainvoke({"request": "x"}, config, context=agent.context(**chosen))
