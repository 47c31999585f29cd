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
        (made(command="view"), None),
        (made(None, command="create"), None),
        (made(command="create", is_error=True), None),
    ],
)
def test_what_a_call_changed(call: Call, diff: list[str] | None) -> None:
    edit = edit_of(call)
    assert (edit and edit.diff) == diff
    if edit is not None:
        assert edit.added == sum(line[0] == "+" for line in edit.diff)
        assert edit.removed == sum(line[0] == "-" for line in edit.diff)


@pytest.mark.parametrize("path", ["a/b.py", "/home/x/a/b.py"])
def test_a_path_as_seen_from_the_workspace(path: str) -> None:
    assert relative(path, "/home/x/") == "a/b.py"
