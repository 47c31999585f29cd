"""How long a server asks to wait, as the real client gets it."""

from __future__ import annotations

import email.utils
import json
import time
from typing import Any

import pytest

from manus.models.errors import explain
from manus.models.retry import server_wait
from manus.state.errors import ModelRefusedError, ModelUnavailableError
from tests.helpers.agent import ScriptedAgent
from tests.nodes.test_model_errors import failure
from tests.server import ScriptedServer, fail, raw, text

WAITS: list[tuple[dict[str, str], float | None]] = [
    ({"Retry-After": "2"}, 2.0),
    ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
    ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ({"Retry-After": "nan"}, None),
    ({"Retry-After": "soon"}, None),
    ({"Retry-After": "9" * 400}, None),
    ({}, None),
]


@pytest.mark.parametrize(("headers", "wait"), WAITS)
async def test_the_header(
    server: ScriptedServer, headers: dict[str, str], wait: float | None
) -> None:
    server.script(fail(429, headers=headers))
    assert server_wait(await failure(server.base_url, False)) == wait


async def test_a_date(server: ScriptedServer) -> None:
    server.script(fail(503, headers={"Retry-After": email.utils.formatdate(time.time() + 300)}))
    wait = server_wait(await failure(server.base_url, False))
    assert wait is not None
    assert 200 < wait <= 300


@pytest.mark.parametrize("value", ["0", "-5", "Wed, 21 Oct 2015 07:28:00 GMT"])
async def test_no_wait_is_not_taken_at_its_word(agent: ScriptedAgent, value: str) -> None:
    """All the tries would be made at once: they are made after waits of our own, which grow."""
    busy = fail(503, headers={"Retry-After": value})
    events = await agent.events(busy, busy, text("Now."))
    first, second = [event["wait"] for event in events if event["type"] == "retry"]
    assert 0.25 <= first <= 0.5 <= second <= 1.0


def google(*details: dict[str, Any]) -> Any:
    """Google's body, as its endpoint that speaks OpenAI's protocol sends it."""
    said = "You exceeded your current quota, please check your plan and billing details."
    error = {"code": 429, "message": said, "status": "RESOURCE_EXHAUSTED", "details": list(details)}
    return raw(json.dumps([{"error": error}]).encode(), 429, "application/json")


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}
DAY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}


async def test_google_says_the_same_of_a_minutes_quota_and_of_a_days(
    server: ScriptedServer,
) -> None:
    server.script(google(RETRY), google(RETRY, DAY))
    minute, day = [await failure(server.base_url, False) for _ in range(2)]
    assert server_wait(minute) == 37.0
    names = {"model": "m", "address": "there"}
    assert isinstance(explain(minute, **names), ModelUnavailableError)
    assert isinstance(explain(day, **names), ModelRefusedError)
