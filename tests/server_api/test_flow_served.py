"""The flow on the server: its plan edited between two steps, and forked."""

from typing import Any

import pytest

from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.server import text
from tests.server_api.studio import Studio

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def script(studio: Studio, *steps: str) -> None:
    studio.server.when(is_planner, makes("alpha", "beta"))
    for step in steps:
        studio.server.when(is_step(step), succeeds(f"{step} is done."))
    studio.server.when(is_summary, *[text("All is done.")] * (len(steps) - 1))


def steps_of(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [(step["text"], step["status"]) for step in values["plan"]["steps"]]


async def test_its_plan_is_edited_between_two_steps_and_forked(studio: Studio) -> None:
    script(studio, "alpha", "gamma", "delta")
    thread = await studio.thread()
    stops: dict[str, Any] = {"graph": "flow", "interrupt_before": ["execute_step"]}
    planned = await studio.run(thread, **stops)
    assert steps_of(planned) == [("alpha", "not_started"), ("beta", "not_started")]
    half = await studio.run(thread, input=None, **stops)
    while steps_of(half)[0] != ("alpha", "completed"):
        half = await studio.run(thread, input=None, **stops)
    before: Any = await studio.client.threads.get_state(thread)

    edit = {"plan": {"step": 1, "text": "gamma"}}
    await studio.client.threads.update_state(thread, edit)
    ended = await studio.run(thread, input=None, graph="flow")
    assert steps_of(ended) == [("alpha", "completed"), ("gamma", "completed")]

    edit = {"plan": {"step": 1, "text": "delta"}}
    fork = await studio.client.threads.update_state(thread, edit, checkpoint=before["checkpoint"])
    other = await studio.run(
        thread, input=None, graph="flow", checkpoint_id=fork["checkpoint"]["checkpoint_id"]
    )
    assert steps_of(other) == [("alpha", "completed"), ("delta", "completed")]
    assert other["output"] == "All is done."
    asked = [request for request in studio.server.requests if is_step("alpha")(request)]
    assert len(asked) == 1  # what both share was done once
    await studio.fork_everywhere(thread)
