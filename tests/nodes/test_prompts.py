"""Every text for the model as a snapshot, so that each change is visible."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from manus.graph.profiles import PROFILES
from manus.prompts import agent, browser, compaction, data, flow, render, tools
from manus.prompts import environment_info as place

PLACE = place.environment({"Workspace": "/work", "Git branch": ""}, ["a.csv", "b/"], 3)
ROOMS = [agent, browser, compaction, data, flow, place, tools]
FILLED: dict[str, Any] = {
    "instructions": place.instructions("AGENTS.md", "Run `make check`.", 7),
    "an empty place": place.environment({}, []),
    "programs behind a proxy": place.programs("rules"),
    "programs beside servers of the user": place.programs("rules", has_servers=True),
    "programs without a network": place.programs("off"),
    "steps left": [agent.steps_left(remaining) for remaining in (1, 3, 15)],
    "budget": [agent.budget_nearly_used_up(["4 of 5 calls"]), agent.last_call("4 of 5 calls")],
    "a loop": [
        agent.describe_call_loop(["`bash`"], 3, "no"),
        agent.describe_call_loop(["`a`", "`b`"], 3, "no"),
        agent.describe_text_loop(3, "Well."),
        agent.describe_silent_loop(3),
        agent.loop_hint("This."),
        agent.polling_hint("This."),
        agent.loop_refused("This."),
        agent.loop_question("This."),
    ],
    "after a special tool": agent.after_special("terminate"),
    "planner": flow.planner({"manus": "General.", "swe": "Code."}, PLACE),
    "planner with one executor": flow.planner({"manus": "General."}, PLACE),
    "revision": flow.revise("Do it.", "PLAN", ["a", "b"], flow.blocked(["0. a"])),
    "rejected": [flow.rejected("too long"), flow.rejected("")],
    "ask again": flow.ask_again(flow.NO_CALL),
    "a step": flow.step("Do it.", "PLAN", ["Step 0: done"], 1, "b"),
    "summary of a plan": flow.summary("Do it.", "PLAN", ["a", "b"]),
    "own plan": flow.own_plan("PLAN"),
    "approval": flow.approve("PLAN"),
    "tools in words": [
        tools.describe(["{}"]),
        tools.call("{}"),
        tools.format_result_header("a", failed=True),
    ],
}


@pytest.mark.parametrize("name", PROFILES)
def test_the_prompts_of_a_profile(name: str, snapshot: SnapshotAssertion) -> None:
    profile = PROFILES[name]
    prompt = render(profile.system_prompt, workspace="/work", place=PLACE)
    assert [prompt, profile.next_step_prompt] == snapshot


@pytest.mark.parametrize("name", FILLED)
def test_a_text_that_is_filled_in(name: str, snapshot: SnapshotAssertion) -> None:
    assert FILLED[name] == snapshot


def test_the_texts_that_stand_as_they_are(snapshot: SnapshotAssertion) -> None:
    constants = {
        f"{room.__name__}.{name}": value
        for room in ROOMS
        for name, value in vars(room).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, str | tuple | dict)
    }
    assert constants == snapshot
