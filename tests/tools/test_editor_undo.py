"""The editor's `undo_edit`, on real files."""

from __future__ import annotations

import asyncio
import resource
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manus.tools.session import Session
from manus.tools.workspace import Workspace
from tests.helpers.edits import Edit, done, editor_of, names_in, refused


@pytest.fixture
def edit(session: Session) -> Edit:
    return editor_of(session)


@pytest.fixture
def root(session: Session) -> Path:
    return session.workspace.root


async def test_each_edit_is_undone_the_last_first(edit: Edit, root: Path) -> None:
    await done(edit("create", "d/e/f", file_text="a\n"))
    await done(edit("str_replace", "d/e/f", old_str="a", new_str="b"))
    await done(edit("insert", "d/e/f", insert_line=1, new_str="c"))
    await done(edit("create", "d/e/f", file_text="other"))
    assert await done(edit("undo_edit", "d/e/f")) == (
        "Undid the last create of d/e/f. There it is now:\n     1\tb\n     2\tc"
    )
    await done(edit("undo_edit", "d/e/f"))
    assert (root / "d/e/f").read_text() == "b\n"
    await done(edit("undo_edit", "d/e/f"))
    assert (root / "d/e/f").read_text() == "a\n"
    assert await done(edit("undo_edit", "d/e/f")) == (
        "Undid the last create of d/e/f: the file is gone again."
    )
    assert names_in(root) == [".manus"], "the folders that were made for it too"
    assert await refused(edit("undo_edit", "d/e/f")) == (
        "There is no edit of d/e/f that could be undone."
    )


async def test_the_folder_of_an_undone_file_stays_while_it_is_used(edit: Edit, root: Path) -> None:
    await done(edit("create", "d/f", file_text="a"))
    (root / "d/other").write_text("")
    await done(edit("undo_edit", "d/f"))
    assert names_in(root / "d") == ["other"]


async def test_undo_survives_a_resume_and_knows_the_file_by_any_name(
    edit: Edit, session: Session, root: Path
) -> None:
    (root / "f").write_text("a")
    (root / "link").symlink_to("f")
    await done(edit("str_replace", "f", old_str="a", new_str="b"))
    again = editor_of(Session(Workspace(root)))
    await done(again("undo_edit", f"{root}/./link"))
    assert (root / "f").read_text() == "a"
    assert (root / "link").is_symlink()


async def test_undo_does_not_lose_what_something_else_has_changed(edit: Edit, root: Path) -> None:
    (root / "f").write_text("a")
    await done(edit("str_replace", "f", old_str="a", new_str="b"))
    (root / "f").write_text("from elsewhere")
    assert await refused(edit("undo_edit", "f")) == (
        "f has been changed by something else since its last str_replace; undoing that would lose "
        "the change. View the file and edit it by hand."
    )
    assert (root / "f").read_text() == "from elsewhere"
    (root / "f").write_text("b")
    await done(edit("undo_edit", "f"))
    assert (root / "f").read_text() == "a"


async def test_undo_brings_back_a_file_that_was_removed(edit: Edit, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/f").write_text("a\n")
    (root / "d/f").chmod(0o755)
    await done(edit("str_replace", "d/f", old_str="a", new_str="b"))
    (root / "d/f").unlink()
    (root / "d").rmdir()
    await done(edit("undo_edit", "d/f"))
    assert (root / "d/f").read_text() == "a\n"
    assert stat.S_IMODE((root / "d/f").stat().st_mode) == 0o755


async def test_an_edit_that_did_not_come_about_is_not_undone(edit: Edit, root: Path) -> None:
    (root / "f").write_text("a")
    await done(edit("str_replace", "f", old_str="a", new_str="b"))
    await done(edit("str_replace", "f", old_str="b", new_str="c"))
    (root / "f").write_text("b")  # as if the process had died between the record and the file
    await done(edit("undo_edit", "f"))
    assert (root / "f").read_text() == "a"


async def test_undo_of_an_overwritten_binary_brings_its_bytes_back(edit: Edit, root: Path) -> None:
    (root / "f").write_bytes(bytes(range(256)))
    await done(edit("create", "f", file_text="text"))
    assert (
        await done(edit("undo_edit", "f")) == "Undid the last create of f: it has 256 bytes again."
    )
    assert (root / "f").read_bytes() == bytes(range(256))


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.text("ab\n", max_size=6)),
        st.tuples(st.just("insert"), st.text("ab\n", max_size=3)),
        st.tuples(st.just("str_replace"), st.text("ab\n", max_size=3)),
    ),
    max_size=6,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=_STEPS, start=st.none() | st.binary(max_size=8))
def test_as_many_undos_as_edits_lead_back(
    tmp_path: Path, steps: list[tuple[str, str]], start: bytes | None
) -> None:
    workspace = Workspace(tmp_path)
    workspace.prepare()
    file = tmp_path / "f"
    file.unlink(missing_ok=True)
    if start is not None:
        file.write_bytes(start)

    async def walk() -> None:
        edit = editor_of(Session(workspace))
        states = [file.read_bytes() if file.exists() else None]
        for command, text in steps:
            arguments: dict[str, dict[str, Any]] = {
                "create": {"file_text": text},
                "insert": {"insert_line": 0, "new_str": text},
                "str_replace": {"old_str": "a", "new_str": text},
            }
            if not (await edit(command, "f", **arguments[command])).is_error:
                states.append(file.read_bytes())
        while len(states) > 1:
            states.pop()
            await done(edit("undo_edit", "f"))
            assert (file.read_bytes() if file.exists() else None) == states[-1]
        await refused(edit("undo_edit", "f"))

    asyncio.run(walk())


async def test_a_write_that_finds_no_room_leaves_all_as_it_was(edit: Edit, root: Path) -> None:
    (root / "f").write_text("a\n")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limit[1]))
    try:
        said = await refused(edit("create", "f", file_text="x" * 2**21))
        assert said == "f cannot be changed: File too large."
        await refused(edit("create", "new/g", file_text="x" * 2**21))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert names_in(root) == [".manus", "f"]
    assert (root / "f").read_text() == "a\n"
    assert await refused(edit("undo_edit", "f")) == "There is no edit of f that could be undone."
