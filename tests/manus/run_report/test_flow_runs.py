"""What is gathered of a flow's runs: the plan over time, and each step's own run."""

from dataclasses import replace

from langgraph.types import Command

from manus.run_report.page import page, state
from manus.trace.checkpoint_history import ROOT as ROOT_NAMESPACE
from manus.trace.checkpoint_history import History, read_history
from manus.trace.model import Run, Stage
from manus.trace.reading import read_trace
from manus.trace.reading import runs_of as all_runs_of
from tests.flow.helpers import (
    ScriptedFlow,
    free,
    gives_up,
    makes,
    revises,
    succeeds,
)
from tests.helpers.agent import thread_config
from tests.server import call, text


async def runs_of(flow: ScriptedFlow, *, is_running: bool = False) -> list[Run]:
    return await read_trace(flow.saver, "t", is_running=is_running)


def titles(run: Run) -> list[str]:
    return [row.title for row in run.stages]


def overlap(first: Stage, second: Stage) -> bool:
    assert first.began is not None
    assert second.began is not None
    assert first.ended is not None
    assert second.ended is not None
    return first.began < second.ended and second.began < first.ended


async def test_parallel_blocked_and_revised(flow: ScriptedFlow) -> None:
    flow.plans(
        makes(free("alpha"), free("[second] beta"), free("gamma", 0, 1), free("delta", 2)),
        revises(free("alpha"), free("[second] beta"), free("other way", 0, 1), free("delta", 2)),
    )
    flow.step("alpha", call("append", path="a", line="1"), succeeds("Alpha is done."))
    flow.step("beta", call("append", path="b", line="1"), succeeds("Beta is done."))
    flow.step("gamma", gives_up("It is closed."))
    flow.step("other way", succeeds("By another way."))
    flow.step("delta", succeeds("Delta is done."))
    flow.sums_up(text("Everything is done."))
    outcome = await flow.run(request="Do four things.")
    [run] = await runs_of(flow)
    assert (run.kind, run.request) == ("flow", "Do four things.")
    assert state(run) == ("Finished", "good")
    assert run.output == "Everything is done."
    planned = ["Plan", "alpha", "[second] beta", "gamma"]
    assert titles(run) == [*planned, "Revised plan", "other way", "delta", "Summary"]
    statuses = [row.status for row in run.stages if row.kind == "step"]
    assert statuses == ["completed", "completed", "blocked", "completed", "completed"]
    alpha, beta, gamma, other = (run.stages[i] for i in (1, 2, 3, 5))
    assert overlap(alpha, beta)
    assert not overlap(alpha, gamma)
    assert [row.executor for row in (alpha, beta)] == ["tester", "second"]
    assert gamma.depends_on == [0, 1]
    assert "It is closed." in gamma.notes
    assert other.result == "By another way."
    assert alpha.files == ["a"]
    assert alpha.run is not None
    assert [c.name for s in alpha.run.steps for c in s.calls] == ["append", "terminate"]
    used = run.tokens
    assert used.input == outcome.usage["input_tokens"]
    assert used.output == outcome.usage["output_tokens"]


async def test_a_plan_to_approve_waits(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha"))
    await flow.run(approve_plan=True)
    [waiting] = await runs_of(flow)
    assert waiting.is_waiting
    [question] = waiting.notices
    assert question.kind == "question"
    assert "alpha" in question.text
    flow.step("omega", succeeds())
    flow.sums_up(text("Done."))
    await flow.invoke(Command(resume="edit 0: omega"), approve_plan=True)
    [run] = await runs_of(flow)
    assert titles(run) == ["Plan", "Approved", "omega", "Summary"]
    assert state(run) == ("Finished", "good")


async def test_a_plan_that_a_person_edited(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", succeeds())
    config = thread_config("t")
    stream = flow.graph.astream(
        {"request": "Do it."}, config, context=flow.context(), interrupt_after=["plan"]
    )
    async for _ in stream:
        pass
    plan = await flow.plan()
    await flow.graph.aupdate_state(config, {"plan": {**plan, "steps": ["alpha", "gamma"]}})
    flow.step("gamma", succeeds())
    flow.sums_up(text("Done."))
    await flow.invoke(None)
    [run] = await runs_of(flow)
    assert titles(run) == ["Plan", "Edited by a person", "alpha", "gamma", "Summary"]


async def test_a_run_can_be_told_at_any_moment_of_it(flow: ScriptedFlow) -> None:
    """Whatever the store has so far, with or without the steps' own checkpoints."""
    flow.plans(makes(free("alpha"), free("beta")), revises(free("alpha"), free("gamma")))
    flow.step("alpha", call("append", path="a", line="1"), succeeds())
    flow.step("beta", gives_up())
    flow.step("gamma", succeeds())
    flow.sums_up(text("Done."))
    await flow.run(request="Do it.")
    history = await read_history(flow.saver, "t")
    at_work = 0
    moments = sorted(s.began for steps in history.values() for s in steps)
    for now in moments:
        for with_steps in (True, False):
            early: History = {}
            for namespace, own in history.items():
                past = [s for s in own if s.began <= now]
                if past and (with_steps or namespace == ROOT_NAMESPACE):
                    past[-1] = replace(past[-1], until=None, writes=past[-1].writes[:1])
                    early[namespace] = past
            runs = all_runs_of(early, is_running=True)
            assert "<main" in page("t", runs)
            assert len(runs) == 1
            stages = [s for s in runs[0].stages if s.status == "in_progress"]
            at_work += any(s.run is not None and s.run.steps for s in stages)
    assert at_work > 0
