"""The bundled recording: a flow without a model, as often as one likes."""

import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from manus.graph import build_flow
from manus.graph.outcome import Outcome, outcome_of
from manus.graph.profiles import all_executors
from manus.state.context import Context
from scripts.record_calculator import TASK
from tests.helpers.agent import thread_config

RECORDING = Path(__file__).resolve().parents[2] / "recordings" / "flow_calculator.jsonl"


async def played(workspace: Path) -> Outcome:
    flow = build_flow(all_executors(), checkpointer=InMemorySaver())
    context = Context(workspace=str(workspace), model=f"replay:{RECORDING}")
    await flow.ainvoke({"request": TASK}, thread_config("t"), context=context)
    return outcome_of(await flow.aget_state(thread_config("t")))


async def test_it_makes_a_calculator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    workspace = tmp_path / "workspace"
    for _ in range(2):  # in an empty workspace, and where its files are there already
        outcome = await played(workspace)
        assert (outcome.status, outcome.stop_reason) == ("finished", "completed"), outcome.output
        assert outcome.plan is not None
        assert [step["executor"] for step in outcome.plan["steps"]] == [
            "swe",
            "swe",
            "manus",
            "manus",
        ]
        made = [step["result"]["files"] for step in outcome.plan["steps"]]
        assert made == [["calculator.py"], ["test_calculator.py"], [], []]
    done = subprocess.run(
        [sys.executable, workspace / "calculator.py", "6", "*", "7"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == "42\n"
