"""A request larger than the window is planned, carried out and summed up."""

from __future__ import annotations

import re

import pytest

from tests.flow.helpers import ScriptedFlow, makes, succeeds
from tests.server import text

WINDOW = 12_000
PASTED = "Count the foxes.\n" + "一只敏捷的棕色狐狸 jumped over.\n" * 15_000 + "That was all."


async def test_planner_executor_and_summary_see_its_ends_and_the_file(
    flow: ScriptedFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", str(WINDOW))
    flow.plans(makes("count"))
    flow.step("count", succeeds("Counted."))
    flow.sums_up(text("All is counted."))
    outcome = await flow.run(request=PASTED)
    assert (outcome.stop_reason, outcome.success) == ("completed", True)
    sent = flow.server.requests
    assert len(sent) == 3
    for request in sent:
        assert len(request.raw) < 4 * WINDOW
        assert "Count the foxes.\\n一只" in request.raw.decode()
        found = re.search(r"all [\d,]+ are in (\S+) …\]", request.text)
        assert found is not None
        assert PASTED in (flow.workspace / found[1]).read_text("utf-8")
