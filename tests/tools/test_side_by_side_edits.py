"""Two sessions in one workspace edit different lines of one file: no edit is lost."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from manus.tools.catalog import Catalog
from manus.tools.session import Session
from manus.tools.str_replace_editor import StrReplaceEditor
from manus.tools.workspace import Workspace

EDITS = 100


async def edit_all(root: Path, name: str) -> int:
    """Edit the lines of one editor, in a session of its own; how many calls did not fail."""
    workspace = Workspace(root)
    workspace.prepare()
    catalog = Catalog([StrReplaceEditor(session=Session(workspace))])
    done = 0
    for number in range(EDITS):
        old, new = f"<{name} {number}>", f"[{name} {number}]"
        args = {"command": "str_replace", "path": "f", "old_str": old, "new_str": new}
        done += not (await catalog.execute("str_replace_editor", args)).is_error
    return done


def _file(root: Path) -> Path:
    file = root / "f"
    file.write_text("".join(f"<{name} {n}>\n" for n in range(EDITS) for name in "ab"))
    return file


def _assert_all_edited(file: Path) -> None:
    assert file.read_text() == "".join(f"[{name} {n}]\n" for n in range(EDITS) for name in "ab")


async def test_in_one_process(tmp_path: Path) -> None:
    file = _file(tmp_path)
    assert await asyncio.gather(*(edit_all(tmp_path, name) for name in "ab")) == [EDITS, EDITS]
    _assert_all_edited(file)


async def test_in_two_processes(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    file = _file(root)
    code = f"""
import asyncio, sys, time
from pathlib import Path
from tests.tools.test_side_by_side_edits import edit_all
root, name = Path({str(root)!r}), sys.argv[1]
(root.parent / name).touch()
while not all((root.parent / each).exists() for each in "ab"):  # both begin at once
    time.sleep(0.005)
print(asyncio.run(edit_all(root, name)))
"""
    program = [sys.executable, "-c", code]
    both = [
        await asyncio.create_subprocess_exec(*program, name, stdout=asyncio.subprocess.PIPE)
        for name in "ab"
    ]
    said = await asyncio.gather(*(one.communicate() for one in both))
    assert [int(out) for out, _ in said] == [EDITS, EDITS]
    _assert_all_edited(file)
