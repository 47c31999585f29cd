"""The `planning` tool: its seven commands, and where its plans are stored."""

from pathlib import Path
from typing import Any

import pytest

from manus.calls.invoke import observe_call
from manus.calls.session import Session
from manus.config.profile import Profile
from manus.nodes.notes import KEEPS_PLAN
from manus.state.agent import ToolTask
from manus.state.plan_changes import fold_plans
from manus.tools.planning import PlanCollection, Planning, inject_plans
from manus.workspace.workspace import Workspace
from tests.helpers.agent import TESTER, ScriptedAgent
from tests.helpers.long_run import SUMMARIZER
from tests.server import ScriptedServer, call, calls, fail, mentions, text

KEEPER = Profile(
    name="keeper",
    description="Keeps a plan.",
    tools=("planning", *TESTER.tools),
    system_prompt="You work in $workspace.",
    next_step_prompt="What next?",
    extras={KEEPS_PLAN: True},
)


class Desk:
    """Plans as in a state, and the tool that changes them."""

    def __init__(self, workspace: Path) -> None:
        self.tool = Planning(session=Session(Workspace(workspace)))
        self.plans: dict[str, Any] = {}
        self.active: str | None = None

    async def __call__(self, command: str, **arguments: Any) -> str:
        """Make one call; an error starts with `error: `."""
        call_arguments = {
            "command": command,
            **arguments,
            "plans": self.plans,
            "active": self.active,
        }
        output = await observe_call(self.tool, call_arguments)
        self.plans = fold_plans(self.plans, [output.update.get("plans", {})])
        self.active = output.update.get("active_plan", self.active)
        return f"error: {output.text}" if output.is_error else output.text


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_all_commands(desk: Desk) -> None:
    assert await desk("list") == "There are no plans yet; create one with the command `create`."
    result = await desk("create", plan_id="trip", title="Trip", steps=["pack", "go"])
    assert result.startswith("Plan created.\n\nPlan: Trip (ID: trip)\n=====================\n")
    assert desk.active == "trip"
    marked = await desk("mark_step", step_index=0, step_status="completed", step_notes="light")
    assert "0. [✓] pack\n   Notes: light\n1. [ ] go" in marked
    objects = [{"step": "book"}, {"description": "pack"}, {"text": "go", "title": "End"}]
    updated = await desk("update", title="Trip to the sea", steps=objects)
    assert "0. [ ] book\n1. [✓] pack\n   Notes: light\n2. [ ] go" in updated
    await desk("create", plan_id="home", title="Home", steps=["sweep"])
    listed = await desk("list")
    assert listed.splitlines() == [
        "- trip: Trip to the sea (1/3 steps completed)",
        "- home (active): Home (0/1 steps completed)",
    ]
    assert "Plan: Home" in await desk("get")
    assert "Plan: Trip to the sea" in await desk("get", plan_id="trip")
    await desk("set_active", plan_id="trip")
    assert "Plan: Trip to the sea" in await desk("get")
    assert await desk("delete", plan_id="trip") == "Plan `trip` deleted."
    state: Any = (list(desk.plans), desk.active)
    assert state == (["home"], None)


async def test_a_repeated_blocked_step_stays_blocked_and_is_reported(desk: Desk) -> None:
    await desk("create", title="Trip", steps=["pack", "go"])
    await desk("mark_step", step_index=0, step_status="blocked")
    repeated = await desk("update", steps=["pack", "fly"])
    assert "\nStep 0 stays blocked; to retry it, pass it as an object" in repeated
    tried = await desk("update", steps=[{"text": "pack", "status": "not_started"}, "fly"])
    assert "stays blocked" not in tried


TRIP = ["pack", "go", "return"]
REPLACED: list[tuple[dict[str, Any], list[str]]] = [
    ({"steps": ["fly"], "step_index": 1}, ["pack", "fly", "return"]),
    ({"steps": ["drive", "fly"], "step_index": 1}, ["pack", "drive", "fly", "return"]),
    ({"steps": ["fly"], "step_index": -1}, TRIP),
    # a model that fills in every field
    ({"steps": ["pack", "fly", "return"], "step_index": 0}, ["pack", "fly", "return"]),
]


@pytest.mark.parametrize(("arguments", "texts"), REPLACED)
async def test_an_update_may_replace_one_step(
    desk: Desk, arguments: dict[str, Any], texts: list[str]
) -> None:
    await desk("create", title="Trip", steps=TRIP)
    await desk("mark_step", step_index=0, step_status="completed")
    await desk("update", **arguments)
    steps = desk.plans["Trip"]["steps"]
    assert [step["text"] for step in steps] == texts
    assert steps[0]["status"] == "completed"


WRONG: list[tuple[str, dict[str, Any], str]] = [
    (
        "create",
        {"plan_id": "trip", "title": "T", "steps": ["a"]},
        "already exists; change it with `upd",
    ),
    ("create", {"steps": ["a"]}, "`create` needs a `title`"),
    ("get", {"plan_id": "x"}, "Plan `x` does not exist. The plans are: trip."),
    ("update", {}, "`update` needs a `title`, `steps`, or both"),
    ("update", {"steps": ["x"], "step_index": 5}, "the plan has steps 0 to 1."),
    ("update", {"steps": [], "step_index": 0}, "at least one step"),
    ("delete", {}, "`delete` needs a `plan_id`. The plans are: trip."),
    ("mark_step", {"step_status": "blocked"}, "needs a `step_index`, 0 to 1"),
    ("mark_step", {"step_index": 0}, "needs a `step_status`, `step_notes`"),
    ("mark_step", {"step_index": 2, "step_status": "blocked"}, "the plan has steps 0 to 1."),
]


async def test_errors_state_the_mistake_and_the_correct_usage(
    desk: Desk, subtests: pytest.Subtests
) -> None:
    await desk("create", plan_id="trip", title="Trip", steps=["pack", "go"])
    before = (desk.plans, desk.active)
    for command, arguments, message in WRONG:
        with subtests.test(command=command, arguments=arguments):
            answer = await desk(command, **arguments)
            assert answer.startswith("error: ")
            assert message in answer
            assert (desk.plans, desk.active) == before


def test_a_call_sees_the_plans_as_left_by_previous_calls() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Planning", {"command": "create", "plan_id": "p", "title": "P", "steps": ["a"]}),
        ("Planning", {"command": "nonsense"}),
        ("Planning", {"command": "mark_step", "step_index": 0}),
        ("bash", {}),
    ]
    tasks = [ToolTask(index=i, id=str(i), name=n, args=args) for i, (n, args) in enumerate(calls)]
    injected = inject_plans(tasks, PlanCollection({}, None))
    assert [list(t.get("injected", {}).get("plans", {})) for t in injected] == [
        [],
        ["p"],
        ["p"],
        [],
    ]
    assert [t.get("injected", {}).get("active") for t in injected] == [None, "p", "p", None]
    assert "injected" not in injected[3]
    assert "injected" not in tasks[0]


@pytest.fixture
def keeper(agent: ScriptedAgent) -> ScriptedAgent:
    return ScriptedAgent(agent.server, agent.workspace, agent.saver, KEEPER)


def created(*steps: str) -> Any:
    return call("planning", command="create", plan_id="p", title="P", steps=list(steps))


async def test_a_profile_with_a_plan_sees_it(keeper: ScriptedAgent) -> None:
    await keeper.run(
        text("Hm.", usage=None),
        created("a", "b"),
        call("planning", command="mark_step", step_index=0, step_status="completed"),
        text("Done."),
        text_reply="continue",
        max_steps=4,
    )
    last: list[str] = [str(request.last["content"]) for request in keeper.server.requests]
    assert "There is no plan yet" in last[0]
    assert "0. [→] a\n1. [ ] b" in last[2]
    assert "0. [✓] a\n1. [→] b" in last[3]
    plan = (await keeper.values())["plans"]["p"]
    assert [s["status"] for s in plan["steps"]] == ["completed", "in_progress"]


async def test_plans_survive_a_new_run_and_belong_to_one_thread(keeper: ScriptedAgent) -> None:
    await keeper.run(created("a"), text("Planned."))
    again = ScriptedAgent(keeper.server, keeper.workspace, keeper.saver, KEEPER)
    await again.run(call("planning", command="list"), text("Seen."), request="And?")
    assert (await again.observations())[-1] == "- p (active): P (0/1 steps completed)"
    await again.run(call("planning", command="list"), text("None."), thread="other")
    assert (await again.observations("other"))[-1].startswith("There are no plans yet")


async def test_a_compaction_keeps_the_plan(keeper: ScriptedAgent, server: ScriptedServer) -> None:
    server.when(mentions(SUMMARIZER)).always(fail(401))
    (keeper.workspace / "long").write_text("A wall, a door, a window. " * 40)
    overflow = fail(400, code="context_length_exceeded")
    work = [calls(call("read", path="long"), call("poll")) for _ in range(8)]
    await keeper.run(created("a", "b"), *work, overflow, text("Done."))
    last = server.requests[-1]
    assert "Notes on the messages" in last.text
    assert created("a", "b").arguments not in last.text, "the call that created it was evicted"
    assert "0. [→] a\n1. [ ] b" in str(last.last["content"])
    await keeper.run(call("planning", command="get"), text("Seen."), request="And?")
    assert "0. [→] a\n1. [ ] b" in (await keeper.observations())[-1]
