"""Diffs of the editor's calls, from their arguments."""

from typing import Any

import pytest

from manus.run_report.edits import EDITOR, edit_of, relative
from manus.trace.model import Call


def made(observation: str | None = "Done.", *, is_error: bool = False, **args: Any) -> Call:
    return Call("c", EDITOR, {"path": "a.py", **args}, observation, is_error)


@pytest.mark.parametrize(
    ("call", "diff"),
    [
        (made(command="create", file_text="one\ntwo\n"), ["+one", "+two"]),
        (
            made(command="str_replace", old_str="a\ntwo\nb", new_str="a\n2\n2½\nb"),
            [" a", "-two", "+2", "+2½", " b"],
        ),
        (made(command="insert", insert_line=3, new_str="four"), ["+four"]),
        (made(command="str_replace", old_str="gone"), ["-gone"]),
        (made(command="create"), []),
    ],
)
def test_what_a_call_changed(call: Call, diff: list[str]) -> None:
    edit = edit_of(call)
    assert edit is not None
    assert edit.diff == diff
    assert edit.added == sum(line[0] == "+" for line in diff)
    assert edit.removed == sum(line[0] == "-" for line in diff)


def test_a_call_that_failed_or_only_looked_has_changed_nothing() -> None:
    for call in (
        made(command="view"),
        made(None, command="create"),
        made(command="create", is_error=True),
    ):
        assert edit_of(call) is None


def test_long_texts_are_not_compared_line_by_line() -> None:
    old = "".join(f"{i}\n" for i in range(30_000))
    edit = edit_of(made(command="str_replace", old_str=old, new_str=f"{old}more\n"))
    assert edit is not None
    assert (edit.added, edit.removed) == (30_001, 30_000)


@pytest.mark.parametrize("path", ["a/b.py", "./a/b.py", "/home/x/a/b.py", "/workspace/a/b.py"])
def test_a_path_as_seen_from_the_workspace(path: str) -> None:
    assert relative(path, "/home/x/") == "a/b.py"
