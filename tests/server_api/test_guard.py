"""Which requests the local servers accept."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from manus.pages.server_guard import AccessPolicy
from manus.served import access_from
from manus.state.errors import UsageError
from tests.helpers.agent import ScriptedAgent
from tests.server_api.dev_server import DevServer

HERE = {"host": "127.0.0.1:2024", "content-type": "application/json", "content-length": "2"}
TOKEN = {"MANUS_SERVER_TOKEN": "secret"}
HEADS: list[tuple[dict[str, str], dict[str, str], int | None]] = [
    ({}, {}, None),
    ({"origin": "http://localhost:3000"}, {}, None),
    ({"origin": "null"}, {}, 403),
    ({"host": "agent.example"}, {}, 403),
    ({"host": "[::1"}, {}, 403),
    ({"host": ""}, {}, 403),
    ({"host": "agent.example"}, {"MANUS_ALLOWED_HOSTS": "agent.example"}, None),
    ({"host": "any.example"}, {"MANUS_ALLOWED_HOSTS": "*"}, None),
    ({"content-type": "application/json; charset=utf-8"}, {}, None),
    ({"content-type": "text/plain"}, {}, 403),
    ({}, TOKEN, 401),
    ({"authorization": "Bearer secret"}, TOKEN, None),
    ({"host": "api"}, TOKEN, None),
]


@pytest.mark.parametrize(("headers", "environment", "status"), HEADS)
def test_requests_of_the_development_server(
    headers: dict[str, str], environment: dict[str, str], status: int | None
) -> None:
    access = access_from(environment)
    rejection = access.find_rejection("POST", "/threads", {**HERE, **headers})
    assert (rejection.status if rejection else None) == status


@pytest.mark.parametrize(
    ("headers", "is_accepted"),
    [
        ({"host": "127.0.0.1:80"}, True),
        ({"host": "127.0.0.1:81"}, False),
        ({"host": "127.0.0.1"}, False),
        ({"host": "127.0.0.1:80", "origin": "http://127.0.0.1:80"}, True),
        ({"host": "127.0.0.1:80", "origin": "http://127.0.0.1:81"}, False),
    ],
)
def test_a_port_can_be_part_of_the_host(headers: dict[str, str], is_accepted: bool) -> None:
    access = AccessPolicy(hosts=frozenset({"127.0.0.1:80"}))
    assert (access.find_rejection("GET", "/", headers) is None) is is_accepted


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
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    monkeypatch.setenv("MANUS_SERVED_ROOT", str(tmp_path))
    config: Any = {"configurable": {"thread_id": "t", "assistant_id": "a"}}
    for settings in ({"workspace": "/etc"}, {"record": "/etc/x"}, {"model": "replay:/etc/passwd"}):
        with subtests.test(settings=settings), pytest.raises(UsageError):
            await agent.graph.ainvoke({"request": "x"}, config, context=agent.context(**settings))
