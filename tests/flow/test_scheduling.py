"""Which steps go to work together, and which files they changed."""

import os
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from manus.nodes.planning.changed_files import changed_since, mentioned
from manus.nodes.planning.scheduling import choose_steps, share_a_file
from tests.flow.test_plan import plan_of

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


NAMED = {"wrote a.py": True, "wrote src/a.py.": True, "wrote test_a.py": False, "a.pyc": False}


def test_a_file_is_named_by_its_whole_name() -> None:
    for said, named in NAMED.items():
        history: list[AnyMessage] = [HumanMessage("a.py"), AIMessage(said)]
        assert mentioned(["src/a.py"], history) == (["src/a.py"] if named else [])
