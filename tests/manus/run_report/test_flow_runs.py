"""What is gathered of a flow's runs: the plan over time, and each step's own run."""

from dataclasses import replace

from manus.run_report.page import page
from manus.trace.history import ROOT as ROOT_NAMESPACE
from manus.trace.history import History, read_history
from manus.trace.reading import runs_of
from tests.flow.helpers import ScriptedFlow, free, gives_up, makes, revises, succeeds
from tests.server import call, text


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
            runs = runs_of(early, is_running=True)
            assert "<main" in page("t", runs)
            assert len(runs) == 1
            stages = [s for s in runs[0].stages if s.status == "in_progress"]
            at_work += any(s.run is not None and s.run.steps for s in stages)
    assert at_work > 0
