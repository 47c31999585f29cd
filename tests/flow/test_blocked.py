"""Replies of the planner; a step that fails is replanned, and a stopped flow resumes."""

from typing import Any

import pytest
from langgraph.types import Command

from manus.graph.outcome import Outcome
from manus.graph.state_update import reopen
from manus.prompts.flow import DEFAULT_STEPS
from tests.flow.helpers import (
    ScriptedFlow,
    free,
    gives_up,
    is_planner,
    is_step,
    is_summary,
    makes,
    revises,
    succeeds,
)
from tests.helpers.agent import thread_config
from tests.server import call, calls, fail, text, tokens

ENDINGS: dict[str, tuple[Any, int, str]] = {
    "failure": (gives_up("The site is closed."), 3, "the executor gave up: The site is closed."),
    "max_steps": (call("poll"), 3, "the executor ran out of steps"),
    "stuck": (call("read", path="nothing"), 20, "the executor was stuck in a loop"),
    "error": (fail(401), 3, "the model call failed"),
}


@pytest.mark.parametrize("kind", ENDINGS)
async def test_a_step_with_this_outcome_is_blocked(flow: ScriptedFlow, kind: str) -> None:
    reply, steps, why = ENDINGS[kind]
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha").always(reply)
    flow.sums_up(text("I have done everything."))
    outcome = await flow.run(max_steps=steps, max_replans=0)
    assert (outcome.status, outcome.stop_reason) == ("idle", "plan_incomplete")
    assert not outcome.success
    assert await flow.statuses() == ["blocked", "not_started"]
    assert (await flow.plan())["steps"][0]["notes"].startswith(why)
    # the facts are there, whatever the model writes in its summary
    assert f"0. alpha (blocked: {why}" in outcome.output
    assert "1. beta (abandoned" in outcome.output
    assert flow.requests_for(is_step("beta")) == []


async def test_the_plan_is_revised_and_the_planner_sees_why(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta", "gamma"), revises("beta another way", "gamma"))
    flow.step("alpha", succeeds("Alpha is 42."))
    flow.step("beta", gives_up("No ladder."))
    flow.step("beta another way", succeeds("By the stairs."))
    flow.step("gamma", succeeds())
    flow.sums_up(text("All."))
    outcome = await flow.run()
    assert (outcome.stop_reason, outcome.success) == ("completed", True)
    revision = flow.requests_for(is_planner)[1].text
    assert revision.count("the executor gave up: No ladder.") == 1
    assert "- 1. beta" in revision
    assert "2. depends_on: [1]" in revision
    assert "Alpha is 42." in revision
    plan = await flow.plan()
    assert [s["text"] for s in plan["steps"]] == ["alpha", "beta another way", "gamma"]
    assert plan["steps"][0]["result"]
    assert [s["text"] for s in plan["dropped"]] == ["beta"]
    assert len(flow.requests_for(is_step("alpha"))) == 1
    assert outcome.results[0].startswith("Step left out: beta")
    assert "when the plan was revised: beta" in flow.requests_for(is_summary)[0].text


ONE: dict[str, tuple[Any, list[str], list[list[int]]]] = {
    # the planner's revision of step 1, the texts of the plan, the dependencies of each step
    "a text": (
        revises("beta another way", step_index=1),
        ["alpha", "beta another way", "gamma", "delta"],
        [[], [0], [0], [1, 2]],
    ),
    "several": (
        revises("beta first", "beta then", step_index=1),
        ["alpha", "beta first", "beta then", "gamma", "delta"],
        [[], [0], [1], [0], [2, 3]],
    ),
    "the same again": (
        revises({"text": "beta", "status": "not_started"}, step_index=1),
        ["alpha", "beta", "gamma", "delta"],
        [[], [0], [0], [1, 2]],
    ),
    "with dependencies": (
        revises(free("beta alone"), step_index=1),
        ["alpha", "beta alone", "gamma", "delta"],
        [[], [], [0], [1, 2]],
    ),
}


@pytest.mark.parametrize("kind", ONE)
async def test_the_planner_changes_one_step_without_the_others(
    flow: ScriptedFlow, kind: str
) -> None:
    revision, texts, depends_on = ONE[kind]
    steps = ("alpha", free("beta", 0), free("gamma", 0), free("delta", 1, 2))
    flow.plans(makes(*steps), revision)
    flow.step("beta", gives_up("No ladder."))
    flow.step("").always(succeeds())
    flow.sums_up(text("All."))
    assert (await flow.run()).stop_reason == "completed"
    plan = await flow.plan()
    assert [step["text"] for step in plan["steps"]] == texts
    assert [step["depends_on"] for step in plan["steps"]] == depends_on
    assert len(flow.requests_for(is_step("alpha"))) == 1


@pytest.mark.parametrize(("index", "why"), [(0, "completed"), (7, "Step 7 does not exist")])
async def test_a_step_that_cannot_be_replaced_is_explained_to_the_planner(
    flow: ScriptedFlow, index: int, why: str
) -> None:
    wrong = revises("x", step_index=index)
    flow.plans(makes("alpha", "beta"), wrong, revises("beta again", step_index=1))
    flow.step("beta", gives_up("No ladder."))
    flow.step("").always(succeeds())
    flow.sums_up(text("All."))
    assert (await flow.run()).stop_reason == "completed"
    assert why in flow.requests_for(is_planner)[2].text
    assert [step["text"] for step in (await flow.plan())["steps"]] == ["alpha", "beta again"]


SAME: dict[str, tuple[Any, ...]] = {
    "texts": ("build", "tests", "publish", "announce"),
    "numbers": (free("build"), free("tests", 0), free("publish", 1), free("announce", 2)),
    "completed_left_out": ("tests", "publish", "announce"),
    "new_step_behind": ("build", "tests", "publish", "announce", "sweep the floor"),
    "other_status": ({"text": "build", "status": "done"}, "tests", "publish", "announce"),
}


@pytest.mark.parametrize("kind", SAME)
async def test_a_step_after_a_blocked_one_stays_abandoned(flow: ScriptedFlow, kind: str) -> None:
    flow.plans(makes("build", "tests", "publish", "announce"), revises(*SAME[kind]))
    flow.step("build", succeeds())
    flow.step("tests", gives_up("Two tests fail."))
    flow.sums_up(text("Not published."))
    outcome = await flow.run()
    assert outcome.stop_reason == "plan_incomplete"
    assert len(flow.requests_for(is_planner)) == 2
    assert (await flow.statuses())[:3] == ["completed", "blocked", "not_started"]
    assert flow.requests_for(is_step("publish")) == []
    assert flow.requests_for(is_step("announce")) == []
    assert "2. publish (abandoned because it needs step 1" in outcome.output


CHANGED: dict[str, tuple[tuple[Any, ...], list[str]]] = {
    "text": (("build", "tests", "publish a draft"), ["completed", "blocked", "completed"]),
    "dependencies": (("build", "tests", free("publish", 0)), ["completed", "blocked", "completed"]),
    "left_out": (("build", "publish"), ["completed", "completed"]),
    "replaced": (
        ("build", "tests", "tests by hand", "publish"),
        ["completed", "blocked", "completed", "completed"],
    ),
    "tried_again": (
        ("build", {"text": "tests", "status": "not_started"}, "publish"),
        ["completed", "completed", "completed"],
    ),
}


@pytest.mark.parametrize("kind", CHANGED)
async def test_a_revision_may_say_otherwise(flow: ScriptedFlow, kind: str) -> None:
    steps, statuses = CHANGED[kind]
    flow.plans(makes("build", "tests", "publish"), revises(*steps))
    flow.step("build", succeeds())
    flow.step("tests", gives_up("Two tests fail."))
    flow.step("tests").always(succeeds())
    flow.step("publish", succeeds("Out."))
    flow.sums_up(text("Published."))
    await flow.run()
    assert await flow.statuses() == statuses


async def test_revisions_are_limited_then_dependent_steps_are_abandoned(flow: ScriptedFlow) -> None:
    rest = (free("beta", 0), free("gamma"))
    flow.plans(makes(free("one"), *rest))
    for name in ("two", "three"):
        flow.plans(revises(free(name), *rest))
    for name in ("one", "two", "three"):
        flow.step(name, gives_up(f"{name} is impossible."))
    flow.step("gamma", succeeds("Gamma."))
    flow.sums_up(text("Some."))
    outcome = await flow.run(max_parallel_steps=1)
    assert (outcome.status, outcome.stop_reason) == ("idle", "plan_incomplete")
    assert len(flow.requests_for(is_planner)) == 3
    assert await flow.statuses() == ["blocked", "not_started", "completed"]
    assert "three is impossible." in outcome.output


async def test_a_later_step_with_the_same_text_can_be_revised_too(flow: ScriptedFlow) -> None:
    flow.plans(makes("check", "beta", "check"))
    flow.plans(revises("alpha", "beta", "check"), revises("alpha", "beta", "look"))
    flow.step("check", gives_up("No."), gives_up("No."))
    for name in ("alpha", "beta", "look"):
        flow.step(name, succeeds())
    flow.sums_up(text("Done."))
    outcome = await flow.run()
    assert outcome.status == "finished"
    assert await flow.statuses() == ["completed"] * 3


async def test_a_budget_holds_for_the_whole_run(
    flow: ScriptedFlow, subtests: pytest.Subtests
) -> None:
    used = tokens(900, 200)
    for name, budget in (("tokens", 2_000), ("model_calls", 2)):
        with subtests.test(name=name, budget=budget):
            flow.plans(calls(makes("alpha", "beta"), usage=used))
            flow.step("alpha", calls(succeeds().calls[0], text="Done.", usage=used))
            outcome = await flow.run(budget={name: budget}, thread=name)
            assert (outcome.status, outcome.stop_reason) == ("idle", "budget")
            assert await flow.statuses(name) == ["completed", "not_started"]
            assert f"Terminated: Budget used up: {name.replace('_', ' ')}" in outcome.output
            assert "1. beta (not started)" in outcome.output


async def test_parallel_steps_share_one_budget(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta")))
    flow.server.when(is_step("a")).always(call("poll"))
    outcome = await flow.run(budget={"model_calls": 8}, max_replans=0)
    # checked before a call, recorded after it: the call in progress next to the last may exceed it
    assert outcome.usage["model_calls"] in (8, 9)
    assert (outcome.stop_reason, await flow.statuses()) == ("budget", ["blocked", "blocked"])


async def test_time_is_up_in_the_middle_of_a_step(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha"))
    flow.step("alpha", call("ask_human", inquire="Now?"), call("hold", path="held", line="begun"))
    flow.sums_up().always(text("Nothing."))  # if there is enough time
    flow.server.allow_unused()
    await flow.run(max_replans=0)
    used = (await flow.values())["usage"]["seconds"]
    settings: dict[str, Any] = {"budget": {"seconds": used + 0.8}, "max_replans": 0}
    outcome = await flow.invoke(Command(resume="yes"), **settings)
    assert outcome.stop_reason == "budget"
    assert (await flow.plan())["steps"][0]["notes"] == "the run's time is used up"


T = thread_config("t")


async def go_on(flow: ScriptedFlow, **settings: Any) -> Outcome:
    assert await reopen(flow.graph, T)
    return await flow.invoke(None, **settings)


async def test_a_blocked_step_is_retried_and_completed_work_is_kept(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta", "gamma"))
    flow.step("alpha", call("append", path="a", line="1"), succeeds("Alpha is 42."))
    flow.step("beta", gives_up("No ladder."), succeeds("By the stairs."))
    flow.step("gamma", succeeds())
    flow.sums_up(text("Some."), text("All."))
    first = await flow.run(max_replans=0)
    assert (first.stop_reason, first.output.startswith("Some.")) == ("plan_incomplete", True)
    outcome = await go_on(flow, max_replans=0)
    assert (outcome.stop_reason, outcome.output) == ("completed", "All.")
    assert flow.lines("a") == ["1"]
    assert len(flow.requests_for(is_planner)) == 1
    assert "No ladder." in flow.requests_for(is_step("beta"))[1].text, (
        "it sees why it failed before"
    )
    assert outcome.usage["model_calls"] == 1 + 2 + 2 + 1 + 2
    assert [str(m.text) for m in await flow.messages()] == ["Do it.", first.output, "All."]
    assert not await reopen(flow.graph, T)


async def test_a_missing_plan_is_created_on_resume(flow: ScriptedFlow) -> None:
    flow.plans(fail(401), makes("alpha"))
    flow.step("alpha", succeeds())
    flow.sums_up(text("All."))
    assert (await flow.run(approve_plan=True)).stop_reason == "error"
    assert (await go_on(flow, approve_plan=True)).stop_reason == "interrupted"
    outcome = await flow.invoke(Command(resume="yes"), approve_plan=True)
    assert outcome.stop_reason == "completed"


LIST = call("planning", command="list")
CYCLE = makes(free("alpha", 1), free("beta", 0))


async def plan_texts(flow: ScriptedFlow, *replies: Any) -> list[str]:
    """Return the texts of the plan that results from these replies."""
    flow.plans(*replies)
    flow.step("").always(succeeds())
    flow.sums_up(text("All."))
    outcome = await flow.run(request="Bake a cake.\nToday.")
    assert outcome.stop_reason == "completed"
    return [step["text"] for step in (await flow.plan())["steps"]]


UNUSABLE = {
    "text": (text("1. alpha 2. beta"), "did not call the tool"),
    "malformed": (call("planning", raw='{"command": "create", "steps": ["al'), "not valid JSON"),
    "list": (LIST, "creates no plan"),
    "no_steps": (makes(), "at least one step"),
    "other_tool": (call("bash", command="ls"), "no tool `bash`"),
    "cycle": (CYCLE, "0 → 1 → 0"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
async def test_it_is_requested_once_more_with_the_reason(flow: ScriptedFlow, kind: str) -> None:
    reply, why = UNUSABLE[kind]
    assert await plan_texts(flow, reply, makes("alpha", "beta")) == ["alpha", "beta"]
    first, second = flow.requests_for(is_planner)
    assert second.text.removeprefix(first.text).count(why) == 1
    assert second.tools == first.tools


async def test_the_default_plan_has_three_steps(flow: ScriptedFlow) -> None:
    replies = UNUSABLE["malformed"][0], UNUSABLE["no_steps"][0]
    assert await plan_texts(flow, *replies) == list(DEFAULT_STEPS)
    assert (await flow.plan())["title"] == "Bake a cake."
    assert len(flow.requests_for(is_planner)) == 2


async def test_a_remaining_cycle_is_linearized(
    flow: ScriptedFlow, subtests: pytest.Subtests
) -> None:
    (flow.workspace / "prices.csv").write_text("chair,45\n")
    assert await plan_texts(flow, CYCLE, CYCLE) == ["alpha", "beta"]
    assert [s["depends_on"] for s in (await flow.plan())["steps"]] == [[], [0]]
    for request in flow.requests_for(is_planner):  # it sees the current workspace
        with subtests.test(request=request):
            assert "\n  prices.csv\n" in str(request.messages[0]["content"])


async def test_without_tools_the_default_plan_is_used(flow: ScriptedFlow) -> None:
    flow.step("").always(text("Said."))
    flow.sums_up(text("All."))
    outcome = await flow.run(tool_choice="none")
    assert outcome.stop_reason == "completed"
    assert flow.requests_for(is_planner) == []
