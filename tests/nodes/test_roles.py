"""Models by role: each with its own name, parameters and fallbacks."""

from pathlib import Path
from typing import Any

import pytest

from tests.flow.helpers import ScriptedFlow, makes, succeeds
from tests.helpers.agent import ScriptedAgent
from tests.server import Request, call, calls, fail, text


def of(model: str) -> Any:
    """Whether a request is for a model."""

    def matches(request: Request) -> bool:
        return request.model == model

    return matches


async def test_a_role_has_its_own_parameters_and_fallbacks(consulter: ScriptedAgent) -> None:
    Path("manus.toml").write_text(
        f"""
        reasoning_effort = "high"
        fallback = ["never-asked"]
        [roles.extract]
        model = "small"
        base_url = "{consulter.server.base_url}"
        reasoning_effort = "low"
        temperature = 0.5
        fallback = ["smaller"]
        """
    )
    consulter.server.when(of("small"), fail(404))
    consulter.server.when(of("smaller"), text("A page."))
    outcome = await consulter.run(call("consult", path="said", line="What?"), text("Done."))
    assert outcome.output == "Done."
    assert consulter.lines("said") == ["A page."]
    asked = consulter.server.requests
    assert [r.model for r in asked] == ["scripted", "small", "smaller", "scripted"]
    effort = [r.body.get("reasoning_effort") for r in asked]
    assert effort == ["high", "low", "low", "high"]
    assert [r.body.get("temperature") for r in asked] == [None, 0.5, 0.5, None]
    assert outcome.usage["roles"]["extract"]["model_calls"] == 1


async def test_the_planner_has_a_model_of_its_own(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = agent.server.base_url
    Path("manus.toml").write_text(
        f'[roles.plan]\nmodel = "planner"\nbase_url = "{address}"\nreasoning_effort = "high"\n'
    )
    agent.server.when(of("planner"), makes("Pack the bag"))
    flow = ScriptedFlow(agent.server, agent.workspace, agent.saver)
    await flow.run(succeeds("Packed."), text("You can go."))
    first = flow.server.requests[0]
    assert (first.model, first.body["reasoning_effort"]) == ("planner", "high")
    others = flow.server.requests[1:]
    assert "scripted" in {request.model for request in others}
    assert all(r.body.get("reasoning_effort") is None for r in others if r.model == "scripted")
    assert await flow.statuses() == ["completed"]


async def test_what_the_agents_own_model_cannot_see_the_vision_model_is_asked_about(
    agent: ScriptedAgent,
) -> None:
    Path("manus.toml").write_text(
        f"""
        vision = false
        [roles.vision]
        model = "seeing"
        base_url = "{agent.server.base_url}"
        """
    )
    agent.server.when(of("seeing"), calls(call("poll"), text="It is red."))
    outcome = await agent.run(call("picture"), text("Red."))
    assert outcome.output == "Red."
    blind, seeing, after = agent.server.requests
    assert [request.model for request in (blind, seeing, after)] == [
        "scripted",
        "seeing",
        "scripted",
    ]
    assert b"data:image/png" in seeing.raw
    assert b"data:image/png" not in after.raw
    assert b"It is red." in after.raw
    assert outcome.usage["roles"]["vision"]["model_calls"] == 1
