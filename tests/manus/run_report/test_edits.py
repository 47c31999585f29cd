"""Diffs of the editor's calls, from their arguments, against what the editor itself did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from manus.run_report.edits import Edits
from manus.tools.catalog import Catalog
from manus.tools.session import Session
from manus.tools.str_replace_editor import StrReplaceEditor
from manus.tools.workspace import Workspace
from manus.trace.model import Call, Edit


class Editing:
    """The real editor, and the diffs made of its calls."""

    def __init__(self, root: Path) -> None:
        workspace = Workspace(root)
        workspace.prepare()
        self.root = root
        self.session = Session(workspace)
        self.catalog = Catalog([StrReplaceEditor(session=self.session)])
        self.edits = Edits(str(root))

    async def call(self, command: str, path: str, **more: Any) -> Call:
        args = {"command": command, "path": path, **more}
        observation = await self.catalog.execute("str_replace_editor", args)
        call = Call("c", "str_replace_editor", args, observation.text, observation.is_error)
        self.edits.take(call)
        return call

    async def __call__(self, command: str, path: str, **more: Any) -> Edit:
        edit = (await self.call(command, path, **more)).edit
        assert edit is not None
        return edit


@pytest.fixture
async def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    editing = Editing(tmp_path / "workspace")
    yield editing
    await editing.session.close()


def applied(diff: list[str]) -> str:
    """The text that the lines of a diff that makes a file come to."""
    kept = [line[1:] for line in diff if line[:1] in "+ " and not line.startswith("+++")]
    return "\n".join(kept) + "\n"


async def test_a_file_that_is_made_and_changed(edit: Editing) -> None:
    made = await edit("create", "a.py", file_text="one\ntwo\nthree\n")
    assert made.diff[:2] == ["--- /dev/null", "+++ b/a.py"]
    assert (made.added, made.removed) == (3, 0)
    changed = await edit("str_replace", "./a.py", old_str="two", new_str="2\n2½")
    assert changed.diff[2:] == ["@@ -1,3 +1,4 @@", " one", "-two", "+2", "+2½", " three"]
    await edit("insert", str(edit.root / "a.py"), insert_line=0, new_str="zero")
    await edit("insert", "a.py", insert_line=5, new_str="four")
    assert applied(edit.edits.whole("a.py")) == (edit.root / "a.py").read_text()
    assert (await edit("undo_edit", "a.py")).diff[-1:] == ["-four"]
    assert applied(edit.edits.whole("a.py")) == (edit.root / "a.py").read_text()


async def test_a_file_that_was_there_before(edit: Editing) -> None:
    (edit.root / "old").write_text("first\nsecond\nthird\n")
    changed = await edit("str_replace", "old", old_str="second", new_str="other")
    assert changed.diff == ["@@ @@", "-second", "+other"]
    assert edit.edits.whole("old") == []
    overwritten = await edit("create", "old", file_text="new\n")
    assert overwritten.diff == ["@@ @@", "+new"]


async def test_calls_that_changed_nothing(edit: Editing) -> None:
    await edit("create", "a", file_text="x\n")
    failed = await edit.call("str_replace", "a", old_str="not there", new_str="y")
    viewed = await edit.call("view", "a")
    assert (failed.is_error, failed.edit, viewed.edit) == (True, None, None)
    edit.edits.take(Call("c", "str_replace_editor", "not JSON", "x"))
    edit.edits.take(Call("c", "bash", {"command": "create"}, "x"))
    assert [one.added for one in edit.edits.made["a"]] == [1]


async def test_long_files(edit: Editing) -> None:
    made = await edit("create", "long", file_text="".join(f"{i}\n" for i in range(10_000)))
    assert len(made.diff) < 5_000
    changed = await edit("str_replace", "long", old_str="\n5000\n", new_str="\nfive\n")
    assert (changed.added, changed.removed) == (1, 1)
    made = await edit("create", "longer", file_text="".join(f"{i}\n" for i in range(30_000)))
    assert len(made.diff) == 3
