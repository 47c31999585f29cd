"""Arguments in the forms of other agents' tools: understood where they are unambiguous."""

from typing import Any

import pytest

from manus.calls.invoke import observe_call
from manus.calls.session import Session
from manus.tools.bash import Bash, BashArgs
from manus.tools.str_replace_editor import StrReplaceEditor

SOURCE = "def add(a, b):\n\treturn a - b\n\n\nprint(add(1, 2))\n"


@pytest.mark.parametrize(
    ("value", "command"),
    [
        (["bash", "-lc", "echo a | tr a b"], "echo a | tr a b"),
        (["/bin/sh", "-c", "exit 3"], "exit 3"),
        (["grep", "-n", "two words", "a.txt"], "grep -n 'two words' a.txt"),
        ('["bash", "-lc", "ls"]', '["bash", "-lc", "ls"]'),
    ],
)
def test_an_argument_vector_is_a_command(value: Any, command: str) -> None:
    assert BashArgs.tidy({"cmd": value})["command"] == command


async def test_an_argument_vector_is_run(session: Session) -> None:
    result = await observe_call(Bash(session=session), {"cmd": ["bash", "-lc", "echo $((6 * 7))"]})
    assert result.text.startswith("42")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("     2\t\treturn a - b\n", "     2\t\treturn a + b\n"),
        (
            "     1\tdef add(a, b):\n     2\t\treturn a - b",
            "     1\tdef add(a, b):\n     2\t\treturn a + b",
        ),
        ("     2\t\treturn a - b\n", "\treturn a + b\n"),
        (r"def add(a, b):\n\treturn a - b", r"def add(a, b):\n\treturn a + b"),
        ("\treturn a - b", "\treturn a + b"),
    ],
)
async def test_line_numbers_and_escapes_of_an_edit(session: Session, old: str, new: str) -> None:
    path = session.workspace.root / "a.py"
    path.write_text(SOURCE)
    editor = StrReplaceEditor(session=session)
    edit = {"command": "str_replace", "path": "a.py", "old_str": old, "new_str": new}
    result = await observe_call(editor, edit)
    assert not result.is_error, result.text
    assert path.read_text() == SOURCE.replace("-", "+")


async def test_text_that_looks_escaped_is_replaced_as_it_is(session: Session) -> None:
    path = session.workspace.root / "a.py"
    path.write_text('print("a\\nb")\n')
    edit = {"command": "str_replace", "path": "a.py", "old_str": r"a\nb", "new_str": r"a\nc"}
    await observe_call(StrReplaceEditor(session=session), edit)
    assert path.read_text() == 'print("a\\nc")\n'


@pytest.mark.parametrize(
    ("lines", "shown"),
    [({"start_line": 2, "end_line": 2}, ["2"]), ({"start_line": 4}, ["4", "5"])],
)
async def test_a_range_of_lines(session: Session, lines: dict[str, int], shown: list[str]) -> None:
    (session.workspace.root / "a.py").write_text(SOURCE)
    result = await observe_call(
        StrReplaceEditor(session=session), {"command": "view", "path": "a.py", **lines}
    )
    numbers = [line.split("\t")[0].strip() for line in result.text.splitlines() if "\t" in line]
    assert numbers == shown


async def test_a_view_does_not_stop_just_before_the_end(session: Session) -> None:
    room = session.settings.max_observe
    count = 1
    editor = StrReplaceEditor(session=session)
    for count in range(room // 110, room // 90):
        (session.workspace.root / "a.txt").write_text("".join(f"{'x' * 90}\n" * count))
        result = await observe_call(editor, {"command": "view", "path": "a.txt"})
        last = [line for line in result.text.splitlines() if "\t" in line][-1]
        assert count - int(last.split("\t")[0]) not in (1, 2)
        assert len(result.text) <= room
