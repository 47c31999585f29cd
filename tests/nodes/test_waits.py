"""How long a server asks to wait: headers and words of providers, as the real client gets them."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from manus.models.errors import explain
from manus.models.retry_after import seconds_of, server_wait
from manus.state.errors import ModelRefusedError, ModelUnavailableError
from tests.helpers.agent import ScriptedAgent
from tests.nodes.test_model_errors import failure
from tests.server import ScriptedServer, fail, raw, text


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("20ms", 0.02),
        ("1s", 1.0),
        ("1.5s", 1.5),
        ("6m0s", 360.0),
        ("1h2m3s", 3723.0),
        ("2m59.56s", 179.56),
        ("37 seconds", 37.0),
        ("1 minute 5 seconds", 65.0),
        ("2d", 172_800.0),
        ("", None),
        ("soon", None),
        ("5", None),
        ("1s later", None),
        ("1" * 5_000, None),
    ],
)
def test_a_duration(said: str, seconds: float | None) -> None:
    assert seconds_of(said) == (None if seconds is None else pytest.approx(seconds))


LIMITS: list[tuple[dict[str, str], float | None]] = [
    ({"x-ratelimit-reset-requests": "20ms", "x-ratelimit-remaining-requests": "0"}, 0.02),
    ({"x-ratelimit-reset-tokens": "6m0s"}, 360.0),
    (
        {
            "x-ratelimit-remaining-requests": "59",
            "x-ratelimit-reset-requests": "1s",
            "x-ratelimit-remaining-tokens": "0",
            "x-ratelimit-reset-tokens": "7s",
        },
        7.0,
    ),
    ({"x-ratelimit-reset-requests": "9s", "x-ratelimit-reset-tokens": "4s"}, 4.0),
    ({"x-ratelimit-reset-requests": "10", "x-ratelimit-remaining-requests": "0"}, 10.0),
    ({"Retry-After": "2", "x-ratelimit-reset-tokens": "9s"}, 2.0),
    ({"retry-after-ms": "250", "x-ratelimit-reset-tokens": "9s"}, 0.25),
    ({"x-ratelimit-reset-tokens": "never"}, None),
    ({"Retry-After": "nan"}, None),
    ({"anthropic-ratelimit-requests-reset": "2015-10-21T07:28:00Z"}, 0.0),
    ({"x-ratelimit-limit-requests": "60"}, None),
]


@pytest.mark.parametrize(("headers", "wait"), LIMITS)
async def test_the_limits_of_a_rate(
    server: ScriptedServer, headers: dict[str, str], wait: float | None
) -> None:
    server.script(fail(429, headers=headers))
    assert server_wait(await failure(server.base_url, False)) == wait


async def test_limits_say_nothing_of_other_failures(server: ScriptedServer) -> None:
    server.script(fail(500, headers={"x-ratelimit-reset-tokens": "9s"}))
    assert server_wait(await failure(server.base_url, False)) is None


def in_(seconds: float) -> datetime:
    return datetime.fromtimestamp(time.time() + seconds, UTC)


async def test_limits_that_name_a_time(server: ScriptedServer) -> None:
    table = [
        ("anthropic-ratelimit-input-tokens-reset", in_(300).isoformat()),
        ("anthropic-ratelimit-requests-reset", in_(300).strftime("%Y-%m-%dT%H:%M:%SZ")),
        ("x-ratelimit-reset", str(int(in_(300).timestamp()))),
        ("x-ratelimit-reset", str(int(1000 * in_(300).timestamp()))),
    ]
    for name, value in table:
        server.script(fail(429, headers={name: value}))
        wait = server_wait(await failure(server.base_url, False))
        assert wait is not None
        assert 200 < wait <= 300, (name, value)


@pytest.mark.parametrize(
    ("words", "wait"),
    [
        ("Rate limit reached. Please try again in 1.2s. Visit the page.", 1.2),
        ("Please try again in 6m0s.", 360.0),
        ("Please try again in 20ms.", 0.02),
        ("Please retry after 6 seconds.", 6.0),
        ("Quota exceeded. Please retry in 37.123s.", 37.123),
        ("Too many requests, please wait 30 seconds.", 30.0),
        (f"{'Long. ' * 200} Please try again in 3s.", 3.0),
        ("Please try again in a while.", None),
        ("Please try again in 5 steps.", None),
    ],
)
async def test_a_wait_in_words(server: ScriptedServer, words: str, wait: float | None) -> None:
    server.script(fail(429, message=words))
    assert server_wait(await failure(server.base_url, False)) == wait


BODIES: list[tuple[dict[str, Any], float | None]] = [
    ({"retry_after": 7}, 7.0),
    ({"retry_after": "1.5"}, 1.5),
    ({"retryAfter": "20s"}, 20.0),
    ({"retry_after_seconds": 3}, 3.0),
    ({"retry_after_ms": 250}, 0.25),
    ({"metadata": {"retry_after": 4}}, 4.0),
    ({"retry_after": True}, None),
    ({"retry_after": {"s": 1}}, None),
    ({"retry_after": "soon"}, None),
]


@pytest.mark.parametrize(("more", "wait"), BODIES)
async def test_a_wait_beside_the_words(
    server: ScriptedServer, more: dict[str, Any], wait: float | None
) -> None:
    body = json.dumps({"error": {"message": "Slow down.", "code": 429, **more}}).encode()
    server.script(raw(body, 429, "application/json"))
    assert server_wait(await failure(server.base_url, False)) == wait


HEADERS = ["0", "-5", "-1e3", "Wed, 21 Oct 2015 07:28:00 GMT"]


@pytest.mark.parametrize("value", HEADERS)
async def test_no_wait_is_not_taken_at_its_word(agent: ScriptedAgent, value: str) -> None:
    """All the tries would be made at once: they are made after waits of our own, which grow."""
    busy = fail(503, headers={"Retry-After": value})
    events = await agent.events(busy, busy, text("Now."))
    first, second = [event["wait"] for event in events if event["type"] == "retry"]
    assert 0.25 <= first <= 0.5 <= second <= 1.0


@pytest.mark.parametrize("value", ["9" * 400, "1e400", "3601", "999999999", "4102444800"])
async def test_too_long_a_wait_is_not_waited_for(agent: ScriptedAgent, value: str) -> None:
    """A number that is too large to be one says nothing, and then it is tried again."""
    says_nothing = value in ("9" * 400, "1e400")
    busy = fail(429, headers={"Retry-After": value})
    outcome = await agent.run(busy, *([text("Now.")] if says_nothing else []))
    assert outcome.stop_reason == ("answered" if says_nothing else "error")


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
    assert "try again in 37 s, as it asks" in str(explain(minute, **names))
    assert isinstance(explain(day, **names), ModelRefusedError)


@pytest.mark.parametrize(
    "refusal",
    [
        fail(429, headers={"retry-after-ms": "300"}),
        fail(429, headers={"x-ratelimit-reset-tokens": "300ms"}),
        fail(429, message="Please try again in 300ms."),
    ],
    ids=["asked for", "limit", "in words"],
)
async def test_it_is_kept(agent: ScriptedAgent, refusal: Any) -> None:
    events = await agent.events(refusal, text("So."))
    [wait] = [event["wait"] for event in events if event["type"] == "retry"]
    assert 0.3 <= wait <= 0.33
    first, second = agent.server.requests
    assert second.at - first.at >= 0.3


@pytest.mark.parametrize(
    "refusal",
    [
        fail(429, headers={"x-ratelimit-reset-requests": "6m0s"}),
        fail(429, message="Please try again in 10m."),
        fail(503, retry_after=3600),
    ],
)
async def test_it_is_bounded(agent: ScriptedAgent, refusal: Any) -> None:
    events = await agent.events(refusal)
    assert [event for event in events if event["type"] == "retry"] == []
    assert len(agent.server.requests) == 1
    assert (await agent.outcome()).stop_reason == "error"
