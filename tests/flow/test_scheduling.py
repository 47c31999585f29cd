"""Parallel steps: which ones, which files they change, and which questions they ask."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from manus.execution.changed_files import changed_since, find_mentioned
from manus.graph.profiles import SWE
from manus.nodes.planning.file_use import must_take_turns
from manus.nodes.planning.scheduling import choose_steps
from manus.state.plan_changes import create
from tests.flow.helpers import ScriptedFlow, free, is_planner, is_step, makes, succeeds
from tests.flow.test_plan import build_plan
from tests.server import call, text

PAIRS = [
    ("write a.py", "test a.py", True),
    ("write src/a.py", "test a.py", True),
    ("write src/a.py", "write lib/a.py", False),
    ("write a.py", "write b.py", False),
    ("x", "y", False),
    ("read ./docs/../a.md.", "write a.md", True),
    ("read `a.csv`", "draw a.csv", False),
    ("fetch https://example.org/a.html", "write a.html", False),
    ("some, e.g. one", "others, e.g. two", False),
    # two steps that only read a file
    ("Count the rows in clean.csv", "Plot clean.csv to a.png", False),
    ("Create a chart of the sales in clean.csv", "Write a.md from `clean.csv`", False),
    ("Add a column chart based on clean.csv to a.xlsx", "Use clean.csv to fill b.xlsx", False),
    ("统计 clean.csv 的行数", "clean.csv", False),
    ("Clean raw.csv into clean.csv", "Profile raw.csv", False),
    ("Fix `a.py` as b.py", "Explain a.py", False),
    # two steps that write it
    ("Rename raw.csv to old.csv", "Profile raw.csv", True),
    ("Clean raw.csv into clean.csv", "Profile clean.csv", True),
    ("Fix the handling of dates in app.py", "Add a function to app.py", True),
    ("Append the totals to notes.md", "Update `notes.md` with the figures in a.csv", True),
    ("Summarise a.csv into notes.md", "Summarise b.csv into notes.md", True),
    ("Read a.csv. Save b.csv", "Generate b.csv", True),
    ("Write a test in test_app.py", "Write another one in test_app.py", True),
]


@pytest.mark.parametrize(("left_step", "right_step", "turns"), PAIRS)
def test_steps_that_write_one_file_take_turns(left_step: str, right_step: str, turns: bool) -> None:
    first, second = build_plan(left_step, right_step)["steps"]
    assert must_take_turns(first, second) is turns
    assert must_take_turns(second, first) is turns


DECLARED: list[tuple[list[str], list[str], bool]] = [
    (["clean.csv"], [], True),
    (["./clean.csv"], ["clean.csv"], True),
    (["out/"], ["out/a.csv"], True),
    ([], [], False),
    (["a.csv"], ["b.csv"], False),
]


@pytest.mark.parametrize(("mine", "theirs", "turns"), DECLARED)
def test_declarations_in_the_plan_take_precedence(
    mine: list[str], theirs: list[str], turns: bool
) -> None:
    steps: Any = [
        {"text": "fill clean.csv", "writes": mine},
        {"text": "write clean.csv", "writes": theirs, "depends_on": []},
    ]
    first, second = create("p", "P", steps)["steps"]
    assert must_take_turns(first, second) is turns


TOGETHER: list[tuple[list[Any], int, list[int]]] = [
    ([("a", []), ("b", []), ("c", [])], 2, [0, 1]),
    ([("a", []), ("b", [0]), ("c", [])], 3, [0, 2]),
    ([("write x.py", []), ("test x.py", []), ("write y.py", [])], 3, [0, 2]),
    ([("read x.csv", []), ("plot x.csv", []), ("write y.py", [])], 3, [0, 1, 2]),
    ([("[browser] x", []), ("[Browser] y", []), ("z", [])], 3, [0, 2]),
    (["a", "b"], 3, [0]),
]


@pytest.mark.parametrize(("steps", "most", "ready"), TOGETHER)
def test_steps_that_start_together(steps: list[Any], most: int, ready: list[int]) -> None:
    assert [*choose_steps(build_plan(*steps), most, ["manus", "browser"], {"browser"})] == ready


NAMED = {"wrote a.py": True, "wrote src/a.py.": True, "wrote test_a.py": False, "a.pyc": False}


def test_created_and_changed_files(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for folder in ("sub", ".hidden"):
        (tmp_path / folder).mkdir()
    (tmp_path / "before.txt").touch()
    (tmp_path / "changed.txt").touch()
    began = (tmp_path / "changed.txt").stat().st_ctime_ns + 1
    (tmp_path / "sub" / "new.txt").touch()
    while (tmp_path / "changed.txt").stat().st_ctime_ns < began:  # the clock has advanced
        (tmp_path / "changed.txt").write_text("more")
        (tmp_path / "sub" / "new.txt").write_text("more")
    (tmp_path / ".hidden" / "x").touch()
    (tmp_path / "link").symlink_to(tmp_path / "sub")
    os.utime(tmp_path / "sub" / "new.txt", (0, 0))  # as for a file that was unpacked
    assert sorted(changed_since(tmp_path, began)) == ["changed.txt", "sub/new.txt"]
    assert changed_since(tmp_path / "not there", began) == []
    for sentence, is_mentioned in NAMED.items():
        with subtests.test(sentence=sentence, is_mentioned=is_mentioned):
            history: list[AnyMessage] = [HumanMessage("a.py"), AIMessage(sentence)]
            assert find_mentioned(["src/a.py"], history) == (["src/a.py"] if is_mentioned else [])


THREE = (free("alpha"), free("beta"), free("gamma"), free("join", 0, 1, 2))


async def test_independent_steps_run_concurrently(flow: ScriptedFlow) -> None:
    """Each waits until all three have started: sequential execution would never finish."""
    here = asyncio.Barrier(3)
    loop = asyncio.get_running_loop()

    def meet(_: Any) -> Any:
        asyncio.run_coroutine_threadsafe(here.wait(), loop).result(60)
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


READERS = ("Count the rows in clean.csv", "Draw a.png from clean.csv", "Look at clean.csv")


async def test_steps_that_read_one_file_run_concurrently(flow: ScriptedFlow) -> None:
    here = asyncio.Barrier(3)
    loop = asyncio.get_running_loop()

    def meet(_: Any) -> Any:
        asyncio.run_coroutine_threadsafe(here.wait(), loop).result(60)
        return succeeds()

    flow.plans(makes("Clean raw.csv into clean.csv", *(free(text, 0) for text in READERS)))
    flow.step("Clean", call("append", path="clean.csv", line="1,2"), succeeds())
    for reader in READERS:
        flow.step(reader, meet)
    flow.sums_up(text("All."))
    assert (await flow.run()).stop_reason == "completed"


async def test_their_commands_run_concurrently(flow: ScriptedFlow) -> None:
    flow = ScriptedFlow(flow.server, flow.workspace, flow.saver, (SWE,))
    flow.plans(makes("Clean raw.csv into clean.csv", *(free(text, 0) for text in READERS)))
    flow.step("Clean", call("bash", command="echo 1,2 > clean.csv"), succeeds())
    arrived = " && ".join(f"[ -e {n} ]" for n in range(len(READERS)))
    for n, reader in enumerate(READERS):
        meet = f"touch {n}; until {arrived}; do sleep 0.05; done; wc -l clean.csv"
        flow.step(reader, call("bash", command=meet, timeout=60), succeeds(f"{n} met."))
    flow.sums_up(text("All."))
    assert (await flow.run()).stop_reason == "completed"
    assert await flow.statuses() == ["completed"] * 4


async def test_a_planner_declares_which_steps_write_a_file(flow: ScriptedFlow) -> None:
    first, second = free("The intro of notes.md"), free("The outro of notes.md")
    flow.plans(makes({**first, "writes": ["notes.md"]}, {**second, "writes": "notes.md"}))
    flow.step("intro", call("append", path="notes.md", line="in"), succeeds())
    flow.step("outro", call("append", path="notes.md", line="out"), succeeds())
    flow.sums_up(text("All."))
    assert (await flow.run()).stop_reason == "completed"
    assert flow.lines("notes.md") == ["in", "out"]
    steps = [r for r in flow.server.requests if is_step("of notes.md")(r)]
    assert [is_step("intro")(request) for request in steps] == [True, True, False, False]
    assert "`writes`" in flow.requests_for(is_planner)[0].text
