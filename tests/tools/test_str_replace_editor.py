"""The editor: writing files, paths, arguments, side by side."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from manus.state.agent import ToolTask
from manus.tools.call import call_tool
from manus.tools.catalog import Catalog
from manus.tools.journal import Journal
from manus.tools.locks import Resource
from manus.tools.session import Session
from manus.tools.str_replace_editor import StrReplaceEditor
from tests.helpers.edits import Edit, done, editor_of, names_in, refused


@pytest.fixture
def edit(session: Session) -> Edit:
    return editor_of(session)


@pytest.fixture
def root(session: Session) -> Path:
    return session.workspace.root


async def test_create_writes_the_text_to_the_letter_and_makes_folders(
    edit: Edit, root: Path
) -> None:
    text = "\ttab\r\nünï 😀\n\n  no end"
    assert await done(edit("create", "a/b/c.txt", file_text=text)) == "Created a/b/c.txt (4 lines)."
    assert (root / "a/b/c.txt").read_bytes() == text.encode()


async def test_create_of_an_empty_file(edit: Edit, root: Path) -> None:
    assert await done(edit("create", "empty", file_text="")) == "Created empty (0 lines)."
    assert (root / "empty").read_bytes() == b""
    assert await done(edit("view", "empty")) == "empty is empty."


async def test_create_over_a_file_says_so_and_keeps_its_mode(edit: Edit, root: Path) -> None:
    (root / "run.sh").write_text("old\n")
    (root / "run.sh").chmod(0o750)
    assert await done(edit("create", "run.sh", file_text="new\n")) == (
        "Overwrote run.sh, which had 4 bytes (1 line now); `undo_edit` brings the old content back."
    )
    assert (root / "run.sh").read_text() == "new\n"
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750


async def test_a_new_file_has_the_mode_that_the_umask_gives(edit: Edit, root: Path) -> None:
    (root / "plain").touch()
    await done(edit("create", "made", file_text="x"))
    assert (root / "made").stat().st_mode == (root / "plain").stat().st_mode


@pytest.mark.parametrize("path", ["folder", "folder/", "new/"])
async def test_create_of_a_folder_isrefused(edit: Edit, root: Path, path: str) -> None:
    (root / "folder").mkdir()
    said = await refused(edit("create", path, file_text="x"))
    assert said == f"{path} names a folder; give the path of a file."
    assert names_in(root / "folder") == []


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
async def test_text_that_no_text_file_can_hold_isrefused(edit: Edit, root: Path, text: str) -> None:
    said = await refused(edit("create", "x", file_text=text))
    assert "NUL character" in said or "no place for '\\ud800' (U+D800)" in said
    assert not (root / "x").exists()


@pytest.mark.parametrize(
    ("before", "line", "new", "after"),
    [
        (b"a\nb\n", 0, "x", b"x\na\nb\n"),
        (b"a\nb\n", 1, "x\n", b"a\nx\nb\n"),
        (b"a\nb\n", 2, "x\ny", b"a\nb\nx\ny\n"),
        (b"a\nb", 1, "x", b"a\nx\nb"),
        (b"a\nb", 2, "x", b"a\nb\nx"),
        (b"a\nb", 2, "x\n", b"a\nb\nx\n"),
        (b"a\r\nb\r\n", 1, "x\ny", b"a\r\nx\r\ny\r\nb\r\n"),
        (b"a\r\nb", 2, "x", b"a\r\nb\r\nx"),
        (b"", 0, "x", b"x\n"),
        (b"a\n", 1, "", b"a\n\n"),
        (b"\xef\xbb\xbfa\n", 0, "x", b"\xef\xbb\xbfx\na\n"),
    ],
)
async def test_insert_puts_whole_lines_in_after_a_line(
    edit: Edit, root: Path, before: bytes, line: int, new: str, after: bytes
) -> None:
    (root / "f").write_bytes(before)
    await done(edit("insert", "f", insert_line=line, new_str=new))
    assert (root / "f").read_bytes() == after


async def test_insert_shows_what_came_in(edit: Edit, root: Path) -> None:
    (root / "f").write_text("1\n2\n3\n4\n5\n6\n7\n8\n")
    assert await done(edit("insert", "f", insert_line=6, new_str="new\nlines")) == (
        "Edited f. There it is now:\n     3\t3\n     4\t4\n     5\t5\n     6\t6\n     7\tnew\n"
        "     8\tlines\n     9\t7\n    10\t8"
    )


@pytest.mark.parametrize("line", [-1, 3, 10**12])
async def test_insert_after_a_line_that_is_not_there_isrefused(
    edit: Edit, root: Path, line: int
) -> None:
    (root / "f").write_text("a\nb\n")
    assert await refused(edit("insert", "f", insert_line=line, new_str="x")) == (
        "f has 2 lines; `insert_line` must be from 0 (before the first) to 2 (after the last), "
        f"not {line}."
    )


async def test_a_file_that_is_not_there_may_have_been_meant_otherwise(
    edit: Edit, root: Path
) -> None:
    assert await refused(edit("view", "app.py")) == "There is no app.py in the workspace."
    (root / "src").mkdir()
    (root / "src/app.py").touch()
    assert await refused(edit("view", "app.py")) == (
        "There is no app.py in the workspace. Did you mean src/app.py?"
    )
    assert await refused(edit("view", "src/ap.py")) == (
        "There is no src/ap.py in the workspace. Did you mean src/app.py?"
    )
    (root / "lost").symlink_to("nowhere")
    assert await refused(edit("view", "lost")) == "There is no nowhere in the workspace."
    (root / "ring").symlink_to("ring")
    assert await refused(edit("view", "ring")) == "There is no ring in the workspace."


async def test_nothing_lies_below_a_file(edit: Edit, root: Path) -> None:
    (root / "f").write_text("a\n")
    for path in ("f/g", "f/g/h"):
        assert await refused(edit("create", path, file_text="x")) == (
            "f is a file, so nothing can lie below it; choose another path."
        )
    assert (root / "f").read_text() == "a\n"
    assert names_in(root) == [".manus", "f"]


@pytest.mark.parametrize(
    "path", ["../out", "/etc/passwd", "out/f", "a\0b", "", "\ud800", ".manus/x", "x" * 300]
)
async def test_nothing_is_written_where_nothing_may_be(
    edit: Edit, root: Path, tmp_path_factory: pytest.TempPathFactory, path: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (root / "out").symlink_to(elsewhere)
    await refused(edit("create", path, file_text="x"))
    await refused(edit("undo_edit", path))
    assert list(elsewhere.iterdir()) == []
    assert names_in(root) == [".manus", "out"]


async def test_a_path_is_never_a_command(edit: Edit, root: Path) -> None:
    name = "$(touch pwned); `touch pwned` && 'x' \"y\" *\n"
    await done(edit("create", name, file_text="x\n"))
    assert "x" in await done(edit("view", name))
    assert names_in(root) == sorted([".manus", name])


async def test_a_link_is_followed_and_stays_a_link(edit: Edit, root: Path) -> None:
    (root / "real").write_text("a\n")
    (root / "link").symlink_to("real")
    assert (await done(edit("str_replace", "link", old_str="a", new_str="b"))).startswith(
        "Edited real. "
    )
    assert (root / "link").is_symlink()
    assert (root / "real").read_text() == "b\n"


async def test_another_name_outside_does_not_see_the_change(
    edit: Edit, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "file"
    outside.write_text("a\n")
    (root / "hard").hardlink_to(outside)
    await done(edit("str_replace", "hard", old_str="a", new_str="b"))
    assert outside.read_text() == "a\n"


async def test_a_failed_write_leaves_all_as_it_was(edit: Edit, root: Path) -> None:
    (root / "f").write_text("a\n")
    (root / ".manus/undo").write_text("in the way of the records")
    said = await refused(edit("str_replace", "f", old_str="a", new_str="b"))
    assert said.startswith("f cannot be changed: ")
    await refused(edit("create", "d/e", file_text="x"))
    assert names_in(root) == [".manus", "f"]
    assert (root / "f").read_text() == "a\n"


async def test_nothing_is_left_beside_an_edited_file(edit: Edit, root: Path) -> None:
    await done(edit("create", "f", file_text="a\n"))
    await done(edit("str_replace", "f", old_str="a", new_str="b"))
    await done(edit("undo_edit", "f"))
    assert names_in(root) == [".manus", "f"]


@pytest.mark.parametrize(
    ("command", "given", "said"),
    [
        ("create", {}, "`create` needs `file_text`, the whole text of the file."),
        ("str_replace", {}, "`str_replace` needs `old_str`, the text to replace."),
        (
            "insert",
            {"new_str": "x"},
            "`insert` needs `insert_line`, the number of the line to insert after (0 for the top).",
        ),
        ("insert", {"insert_line": 1}, "`insert` needs `new_str`, the lines to put in."),
        (
            "view",
            {"old_str": "x"},
            "`view` does not take `old_str`; it takes `path`, `view_range`. Nothing was done.",
        ),
        (
            "undo_edit",
            {"view_range": [1, 2]},
            "`undo_edit` does not take `view_range`; it takes `path`. Nothing was done.",
        ),
        (
            "create",
            {"file_text": "x", "new_str": "y"},
            "`create` does not take `new_str`; it takes `path`, `file_text`. Nothing was done.",
        ),
    ],
)
async def test_what_a_command_lacks_or_does_not_take_is_said(
    edit: Edit, root: Path, command: str, given: dict[str, Any], said: str
) -> None:
    (root / "f").write_text("a\n")
    assert await refused(edit(command, "f", **given)) == said
    assert (root / "f").read_text() == "a\n"


async def test_arguments_that_say_nothing_do_not_count(edit: Edit, root: Path) -> None:
    (root / "f").write_text("a\n")
    empty: dict[str, Any] = {"file_text": "", "old_str": None, "new_str": "", "insert_line": 0}
    assert await done(edit("view", "f", **empty, view_range=None)) == "f (1 line):\n     1\ta"


async def test_an_unknown_command_is_explained(edit: Edit) -> None:
    said = await refused(edit("delete", "f"))
    assert (
        '`command` must be one of "view", "create", "str_replace", "insert", "undo_edit", not the '
        'text "delete"'
    ) in said


async def test_edits_of_one_file_by_two_names_lose_nothing(edit: Edit, root: Path) -> None:
    (root / "f").write_text("".join(f"<{n}>\n" for n in range(40)))
    (root / "link").symlink_to("f")
    answers = [
        edit("str_replace", ("f", "link")[n % 2], old_str=f"<{n}>", new_str=f"[{n}]")
        for n in range(40)
    ]
    for answer in await asyncio.gather(*answers):
        assert not answer.is_error
    assert (root / "f").read_text() == "".join(f"[{n}]\n" for n in range(40))


def test_the_resources_of_a_call(session: Session) -> None:
    tool = StrReplaceEditor(session=session)
    for path in ("d/f", "./d//f", f"{session.workspace.root}/d/f"):
        view, create = ({"command": c, "path": path} for c in ("view", "create"))
        assert tool.resources(view) == frozenset({Resource("workspace/d/f", write=False)})
        assert tool.resources(create) == frozenset({Resource("workspace/d/f", write=True)})
        assert tool.read_only(view)
        assert not tool.read_only(create)


async def test_nothing_blocks_the_event_loop(session: Session, root: Path) -> None:
    journal = Journal(root / ".manus/journal.jsonl")
    journal.open()
    session.journal = journal
    catalog = Catalog([StrReplaceEditor(session=session)])
    calls: list[dict[str, Any]] = [
        {"command": "create", "path": "d/f", "file_text": "line\n" * 10_000},
        {"command": "view", "path": "d/f"},
        {"command": "view", "path": "."},
        {"command": "insert", "path": "d/f", "insert_line": 1, "new_str": "x"},
        {"command": "str_replace", "path": "d/f", "old_str": "x", "new_str": "y"},
        {"command": "undo_edit", "path": "d/f"},
        {"command": "view", "path": "no/such/file"},
    ]
    with blockbuster_ctx():
        for number, args in enumerate(calls):
            task = ToolTask(index=0, id="c", name="str_replace_editor", args=args)
            outcome = await call_tool(
                task, session=session, catalog=catalog, key=str(number), max_observe=500
            )
            assert "BlockingError" not in outcome.message.text
    assert outcome.message.text == "There is no no/such/file in the workspace."
