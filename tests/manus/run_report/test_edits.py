"""Diffs of the editor's calls, from their arguments, against what the editor itself did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from manus.run_report.edits import Edits, sum_of
from manus.run_report.facts import Call
from manus.tools.catalog import Catalog
from manus.tools.session import Session
from manus.tools.str_replace_editor import StrReplaceEditor
from manus.tools.workspace import Workspace


class Editing:
    """The real editor, and the diffs made of its calls."""

    def __init__(self, root: Path) -> None:
        workspace = Workspace(root)
        workspace.prepare()
        session = Session(workspace)
        self.root = root
        self.session = session
        self.catalog = Catalog([StrReplaceEditor(session=session)])
        self.edits = Edits(str(root))

    async def __call__(self, command: str, path: str, **more: Any) -> Call:
        args = {"command": command, "path": path, **more}
        observation = await self.catalog.execute("str_replace_editor", args)
        call = Call("c", "str_replace_editor", args, observation.text, observation.is_error)
        self.edits.take(call)
        return call


@pytest.fixture
async def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    editing = Editing(tmp_path / "workspace")
    yield editing
    await editing.session.close()


def applied(diff: list[str]) -> str:
    """The text that the lines of a diff that makes a file come to."""
    kept = [line[1:] for line in diff if line[:1] in "+ " and not line.startswith("+++")]
    return "\n".join(kept)


async def test_a_file_that_is_made_and_changed(edit: Editing) -> None:
    made = await edit("create", "a.py", file_text="one\ntwo\nthree\n")
    assert made.edit is not None
    assert made.edit.diff[:2] == ["--- /dev/null", "+++ b/a.py"]
    assert (made.edit.added, made.edit.removed) == (3, 0)
    changed = await edit("str_replace", "a.py", old_str="two", new_str="2\n2½")
    assert changed.edit is not None
    assert changed.edit.diff[2:] == ["@@ -1,3 +1,4 @@", " one", "-two", "+2", "+2½", " three"]
    await edit("insert", "a.py", insert_line=0, new_str="zero")
    await edit("insert", "a.py", insert_line=5, new_str="four")
    assert applied(edit.edits.whole("a.py")) + "\n" == (edit.root / "a.py").read_text()
    assert sum_of(edit.edits.made["a.py"]) == (7, 1)


async def test_undone_edits(edit: Editing) -> None:
    await edit("create", "a", file_text="one\n")
    await edit("str_replace", "a", old_str="one", new_str="two")
    undone = await edit("undo_edit", "a")
    assert undone.edit is not None
    assert undone.edit.diff[-2:] == ["-two", "+one"]
    assert applied(edit.edits.whole("a")) + "\n" == (edit.root / "a").read_text()


async def test_a_file_that_was_there_before(edit: Editing) -> None:
    (edit.root / "old").write_text("first\nsecond\nthird\n")
    changed = await edit("str_replace", "old", old_str="second", new_str="other")
    assert changed.edit is not None
    assert changed.edit.diff == ["@@ @@", "-second", "+other"]
    assert edit.edits.whole("old") == []
    overwritten = await edit("create", "old", file_text="new\n")
    assert overwritten.edit is not None
    assert overwritten.edit.diff == ["@@ @@", "+new"]


async def test_calls_that_change_nothing(edit: Editing) -> None:
    await edit("create", "a", file_text="x\n")
    for call in (
        await edit("view", "a"),
        await edit("str_replace", "a", old_str="not there", new_str="y"),
        await edit("undo_edit", "other"),
    ):
        assert call.edit is None
    assert list(edit.edits.made) == ["a"]


async def test_other_ways_to_name_a_file(edit: Editing) -> None:
    await edit("create", str(edit.root / "a"), file_text="x\n")
    await edit("str_replace", "./a", old_str="x", new_str="y")
    assert applied(edit.edits.whole("a")) == "y"
    assert edit.edits.relative(f"{edit.root}/x/../b") == "b"


async def test_long_files(edit: Editing) -> None:
    lines = "".join(f"{i}\n" for i in range(10_000))
    made = await edit("create", "long", file_text=lines)
    assert made.edit is not None
    assert len(made.edit.diff) < 5_000
    assert "left out" in made.edit.diff[-1]
    changed = await edit("str_replace", "long", old_str="\n5000\n", new_str="\nfive\n")
    assert changed.edit is not None
    assert (changed.edit.added, changed.edit.removed) == (1, 1)
    far = "".join(f"{i}\n" for i in range(30_000))
    made = await edit("create", "longer", file_text=far)
    assert made.edit is not None
    assert "too long" in made.edit.diff[-1]
