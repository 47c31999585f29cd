"""A key, a model name or an address that is wrong: said at once, without a second try or a wait."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.agent import ScriptedAgent
from tests.server import Scripted, fail


def waits(events: list[dict[str, Any]]) -> list[float]:
    return [event["wait"] for event in events if event["type"] == "retry"]


@pytest.mark.parametrize(
    ("reply", "check"),
    [
        (fail(401), "check MANUS_API_KEY or OPENAI_API_KEY"),
        (fail(403), "check MANUS_API_KEY or OPENAI_API_KEY"),
        (fail(404), "check MANUS_MODEL and MANUS_BASE_URL"),
    ],
    ids=["key", "access", "model"],
)
async def test_one_request_and_no_wait(agent: ScriptedAgent, reply: Scripted, check: str) -> None:
    events = await agent.events(reply)
    assert len(agent.server.requests) == 1
    assert waits(events) == []
    outcome = await agent.outcome()
    assert outcome.stop_reason == "error"
    assert check in outcome.output


@pytest.mark.parametrize("address", ["localhost:8000", "nonsense", "ftp://127.0.0.1/v1"])
async def test_what_is_no_address_is_not_asked(agent: ScriptedAgent, address: str) -> None:
    events = await agent.events(base_url=address)
    assert waits(events) == []
    assert "MANUS_BASE_URL must look like" in (await agent.outcome()).output
