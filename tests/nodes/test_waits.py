"""How long a server asks to wait, as the real client gets it."""

import pytest

from manus.models.retry import server_wait
from tests.helpers.agent import ScriptedAgent
from tests.nodes.test_model_errors import failure
from tests.server import ScriptedServer, fail, text

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


@pytest.mark.parametrize("value", ["0", "Wed, 21 Oct 2015 07:28:00 GMT"])
async def test_no_wait_is_not_taken_at_its_word(agent: ScriptedAgent, value: str) -> None:
    """All the tries would be made at once: they are made after waits of our own, which grow."""
    busy = fail(503, headers={"Retry-After": value})
    events = await agent.events(busy, busy, text("Now."))
    first, second = [event["wait"] for event in events if event["type"] == "retry"]
    assert 0.25 <= first <= 0.5 <= second <= 1.0
