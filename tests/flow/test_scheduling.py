"""Parallel steps: which ones, which files they change, and which questions they ask."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from manus.calls.changed_files import changed_since, find_mentioned
from manus.graph.profiles import SWE
from manus.nodes.planning.scheduling import choose_steps, write_same
from manus.state.plan_changes import create
from tests.flow.helpers import ScriptedFlow, free, is_planner, is_step, makes, succeeds
from tests.flow.test_plan import build_plan
from tests.server import call, text

DECLARED: list[tuple[list[str] | None, list[str] | None, bool]] = [
    (["clean.csv"], [], False),
    (["clean.csv"], None, False),
    (None, None, False),
    (["./clean.csv"], ["a.csv", "clean.csv"], True),
    (["out/"], ["out/a.csv"], True),
    (["out"], ["output.csv"], False),
    (["a.csv"], ["b.csv"], False),
]


@pytest.mark.parametrize(("mine", "theirs", "turns"), DECLARED)
def test_steps_take_turns_if_the_plan_says_that_both_write_a_file(
    mine: list[str] | None, theirs: list[str] | None, turns: bool
) -> None:
    """The text of a step decides nothing."""
    steps: Any = [
        {"text": "write clean.csv", "writes": mine},
        {"text": "write clean.csv", "writes": theirs, "depends_on": []},
    ]
    first, second = create("p", "P", steps)["steps"]
    assert write_same(first, second) is turns
    assert write_same(second, first) is turns


TOGETHER: list[tuple[list[Any], int, list[int]]] = [
    ([("a", []), ("b", []), ("c", [])], 2, [0, 1]),
    ([("a", []), ("b", [0]), ("c", [])], 3, [0, 2]),
    ([("write x.py", []), ("write x.py", []), ("write y.py", [])], 3, [0, 1, 2]),
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
