"""Steps side by side: which ones, which files they changed, and what is asked in them."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.types import Command, StateSnapshot

from manus.graph.outcome import question_of
from manus.nodes.planning.changed_files import changed_since, mentioned
from manus.nodes.planning.scheduling import choose_steps, share_a_file
from manus.state.errors import UsageError
from tests.flow.helpers import ScriptedFlow, free, is_planner, is_step, makes, succeeds
from tests.flow.test_plan import plan_of
from tests.helpers.agent import thread_config
from tests.server import call, text

PAIRS = [
    ("write a.py", "test a.py", True),
    ("write src/a.py", "test a.py", True),
    ("write src/a.py", "write lib/a.py", False),
    ("write a.py", "write b.py", False),
    ("x", "y", False),
    ("read ./docs/../a.md.", "write a.md", True),
    ("read `a.csv`", "draw a.csv", True),
    ("fetch https://example.org/a.html", "write a.html", False),
    ("some, e.g. one", "others, e.g. two", False),
]
TOGETHER: list[tuple[list[Any], int, list[int]]] = [
    ([("a", []), ("b", []), ("c", [])], 2, [0, 1]),
    ([("a", []), ("b", [0]), ("c", [])], 3, [0, 2]),
    ([("x.py", []), ("x.py too", []), ("y.py", [])], 3, [0, 2]),
    ([("[browser] x", []), ("[Browser] y", []), ("z", [])], 3, [0, 2]),
    (["a", "b"], 3, [0]),
]


def test_steps_that_name_one_file_do_not_go_to_work_together() -> None:
    for one, other, shared in PAIRS:
        first, second = plan_of(one, other)["steps"]
        assert share_a_file(first, second) is shared, (one, other)
    for steps, most, chosen in TOGETHER:
        assert [*choose_steps(plan_of(*steps), most, ["manus", "browser"], {"browser"})] == chosen


NAMED = {"wrote a.py": True, "wrote src/a.py.": True, "wrote test_a.py": False, "a.pyc": False}


def test_files_made(tmp_path: Path) -> None:
    for folder in ("sub", ".hidden"):
        (tmp_path / folder).mkdir()
    (tmp_path / "before.txt").touch()
    (tmp_path / "changed.txt").touch()
    began = (tmp_path / "changed.txt").stat().st_ctime_ns + 1
    (tmp_path / "sub" / "new.txt").touch()
    while (tmp_path / "changed.txt").stat().st_ctime_ns < began:  # the clock has ticks
        (tmp_path / "changed.txt").write_text("more")
        (tmp_path / "sub" / "new.txt").write_text("more")
    (tmp_path / ".hidden" / "x").touch()
    (tmp_path / "link").symlink_to(tmp_path / "sub")
    os.utime(tmp_path / "sub" / "new.txt", (0, 0))  # as an unpacked file has it
    assert sorted(changed_since(tmp_path, began)) == ["changed.txt", "sub/new.txt"]
    assert changed_since(tmp_path / "not there", began) == []
    for said, named in NAMED.items():
        history: list[AnyMessage] = [HumanMessage("a.py"), AIMessage(said)]
        assert mentioned(["src/a.py"], history) == (["src/a.py"] if named else [])


THREE = (free("alpha"), free("beta"), free("gamma"), free("join", 0, 1, 2))


async def test_independent_steps_are_at_work_at_the_same_time(flow: ScriptedFlow) -> None:
    """Each waits until all three have begun: one after the other, they would wait for ever."""
    here = asyncio.Barrier(3)
    loop = asyncio.get_running_loop()

    def meet(_: Any) -> Any:
        asyncio.run_coroutine_threadsafe(here.wait(), loop).result(20)
        return succeeds()

    flow.plans(makes(*THREE))
    for name in ("alpha", "beta", "gamma"):
        flow.step(name, meet)
    flow.step("join", text("Joined."))
    flow.sums_up(text("All."))
    began = loop.time()
    outcome = await flow.run()
    assert (outcome.status, outcome.stop_reason) == ("finished", "completed")
    assert await flow.statuses() == ["completed"] * 4
    assert outcome.usage["seconds"] <= loop.time() - began, "no time is counted twice"


async def test_two_questions_are_answered_apart(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta"), free("gamma")))
    flow.step("alpha", call("ask_human", inquire="Red?"), succeeds("Alpha."))
    flow.step("beta", call("ask_human", inquire="Blue?"), succeeds("Beta."))
    flow.step("gamma", call("append", path="g", line="once"), succeeds("Gamma."))
    flow.sums_up(text("All."))
    outcome = await flow.run()
    assert outcome.stop_reason == "interrupted"
    by_question = {question_of(q): q.id for q in outcome.questions}
    assert set(by_question) == {"Red?", "Blue?"}
    snapshot = await flow.graph.aget_state(thread_config("t"), subgraphs=True)
    inside = [task.state for task in snapshot.tasks if task.interrupts][0]  # noqa: RUF015
    assert isinstance(inside, StateSnapshot), "a step at work can be looked into"
    assert "Your step is number 0: alpha" in inside.values["messages"][0].text
    assert inside.next == ("act",)
    with pytest.raises(UsageError, match="have the run go on first"):  # or gamma's result is lost
        await flow.graph.aupdate_state(thread_config("t"), {"plan": {"step": 2, "notes": "n"}})
    outcome = await flow.invoke(Command(resume={by_question["Blue?"]: "navy"}))
    assert [question_of(q) for q in outcome.questions] == ["Red?"]
    outcome = await flow.invoke(Command(resume={outcome.questions[0].id: "crimson"}))
    assert outcome.stop_reason == "completed"
    assert flow.lines("g") == ["once"]
    [said] = [r.text for r in flow.asked(is_step("alpha")) if "crimson" in r.text]
    assert "navy" not in said
    assert len(flow.asked(is_planner)) == 1
