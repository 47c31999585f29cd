"""The terminal and the report count and number the steps of a run identically."""

import re

from tests.cli.program import Program
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.server import ScriptedServer, call, fail, text


def test_a_step_without_a_reply_has_a_number_and_is_not_counted(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(call("bash", command="echo 1"), fail(400))
    failed = manus("run", "Count.", "--thread", "t")
    assert re.findall(r"^Step (\d+)/", failed.err, re.MULTILINE) == ["1", "2"]
    assert "Failed: 1 step, " in failed.err
    server.script(call("bash", command="echo 2"), text("Two."))
    resumed = manus("resume", "t")
    matches = re.findall(r"^Step (\d+)/", resumed.err, re.MULTILINE)
    report = manus("report", "t", "--output", "-").out
    numbers = re.findall(r'aria-label="Step (\d+)"', report)
    assert numbers == ["1", *matches]
    [size] = re.findall(r"Finished: (\d+) steps, ", resumed.err)
    [reported] = re.findall(r"<dt>Steps</dt><dd>(\d+)", report)
    assert (size, reported) == ("4", "4"), "the answer was sent back once"


def test_the_steps_of_a_flow_are_those_of_its_plan(manus: Program, server: ScriptedServer) -> None:
    server.when(is_planner, makes("alpha", "beta"))
    server.when(is_step("alpha"), call("bash", command="echo 1"), succeeds())
    server.when(is_step("beta"), succeeds())
    server.when(is_summary, text("All."))
    result = manus("flow", "Do it.", "--thread", "t")
    assert "Finished: 2 steps, " in result.err
    report = manus("report", "t", "--output", "-").out
    assert "<dt>Steps</dt><dd>2<small>2 completed</small>" in report
    assert "<dt>Agent steps</dt><dd>3<small>3 tool calls</small>" in report
