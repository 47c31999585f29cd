"""The result of a step as later steps and the summary read it."""

from typing import Any

import pytest

from manus.nodes.subagent import SubagentResult
from tests.flow.helpers import ScriptedFlow, is_step, makes, succeeds
from tests.server import call, text

SILENT: Any = call("terminate", status="success")

SILENT_RUNS = {
    "nothing done": ([SILENT, SILENT], ""),
    "one call": (
        [call("append", path="a", line="x"), SILENT, SILENT],
        "Step 1: append → Appended to a.",
    ),
}


@pytest.mark.parametrize("kind", SILENT_RUNS)
async def test_an_end_without_an_answer_is_not_a_result(flow: ScriptedFlow, kind: str) -> None:
    replies, result = SILENT_RUNS[kind]
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", *replies)
    flow.step("beta", succeeds("Beta."))
    flow.sums_up(text("All."))
    outcome = await flow.run()
    assert outcome.stop_reason == "completed"
    step = (await flow.plan())["steps"][0]
    assert step["result"] is not None
    assert step["result"]["text"] == result
    assert outcome.results[0] == f"Step 0: alpha (completed){result and f' → {result}'}"
    request = flow.requests_for(is_step("beta"))[0].text
    assert "terminate →" not in request
    assert "Step 0 [✓]\nResult: " + (result or "(no text)") in request


HEADINGS = [
    ("SUMMARY\n\nAll is well.", "All is well."),
    ("## Summary\n- one\n- two", "- one\n- two"),
    ("**Final summary:** done", "done"),
    ("=== SUMMARY ===\ndone", "done"),
    ("Summary\n=======\ndone", "done"),
    ("总结：完成", "完成"),
    ("SUMMARY", ""),
    ("Summary of the data: 42", "Summary of the data: 42"),
    ("summary.md has it", "summary.md has it"),
    ("Done.\n\nSummary\n- one", "Done.\n\nSummary\n- one"),
]


@pytest.mark.parametrize(("text", "result"), HEADINGS)
def test_a_summary_heading_is_removed(text: str, result: str) -> None:
    assert SubagentResult({"output": text}).output == result
