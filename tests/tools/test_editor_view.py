"""The editor's `view`, of files, pictures and folders."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import pytest

from manus.state.context import Context
from manus.tools.session import Session
from manus.tools.workspace import Workspace
from tests.helpers.edits import Edit, done, editor_of, refused

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


@pytest.fixture
def edit(session: Session) -> Edit:
    return editor_of(session)


@pytest.fixture
def root(session: Session) -> Path:
    return session.workspace.root


async def test_view_numbers_the_lines(edit: Edit, root: Path) -> None:
    (root / "f").write_text("one\n\ttwo\n\nfour")
    assert await done(edit("view", "f")) == (
        "f (4 lines, no newline at the end):\n     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour"
    )


async def test_view_says_what_it_does_not_show(edit: Edit, root: Path) -> None:
    (root / "f").write_bytes(b"\xff\xfe" + "a\r\nb\r\n".encode("utf-16-le"))
    assert await done(edit("view", "f")) == (
        "f (2 lines, UTF-16-LE with a byte order mark, lines end with CRLF):\n     1\ta\n     2\tb"
    )


@pytest.mark.parametrize(
    ("wanted", "title", "first", "last"),
    [
        ([2, 3], "lines 2 to 3 of 5", 2, 3),
        ([4, -1], "lines 4 to 5 of 5", 4, 5),
        ([3, 3], "line 3 of 5", 3, 3),
        ([1, -1], "5 lines", 1, 5),
        ([4, 99], "lines 4 to 5 of 5", 4, 5),
        ("[2, 3]", "lines 2 to 3 of 5", 2, 3),
    ],
)
async def test_view_of_a_part(
    edit: Edit, root: Path, wanted: Any, title: str, first: int, last: int
) -> None:
    (root / "f").write_text("1\n2\n3\n4\n5\n")
    lines = [f"{number:6}\t{number}" for number in range(first, last + 1)]
    assert await done(edit("view", "f", view_range=wanted)) == "\n".join([f"f ({title}):", *lines])


@pytest.mark.parametrize("wanted", [[0, 1], [6, 7], [3, 2], [-2, -1], [2, -3]])
async def test_a_part_that_is_not_there_isrefused(
    edit: Edit, root: Path, wanted: list[int]
) -> None:
    (root / "f").write_text("1\n2\n3\n4\n5\n")
    assert await refused(edit("view", "f", view_range=wanted)) == (
        f"`view_range` {wanted} does not fit f, which has 5 lines: the first number must be from 1 "
        "to 5, and the second not below it (-1 is the end)."
    )


async def test_a_range_is_two_numbers(edit: Edit, root: Path) -> None:
    (root / "f").write_text("1\n")
    said = await refused(edit("view", "f", view_range=[1, 2, 3]))
    assert said.startswith("`view_range` must be two line numbers")


async def test_a_long_file_is_shown_as_far_as_there_is_room(edit: Edit, root: Path) -> None:
    (root / "f").write_text("".join(f"line {n}\n" for n in range(1, 10_001)))
    seen, first, last = 0, 1, -1
    while seen < 10_000:
        said = await done(edit("view", "f", view_range=[first, last]))
        assert len(said) <= 10_000
        for line in said.split("\n")[1:]:
            if line.startswith("["):
                assert line.startswith(f"[lines {seen + 1} to ")
                assert "see more with view_range [" in line
            else:
                seen += 1
                assert line == f"{seen:6}\tline {seen}"
        first = seen + 1


async def test_the_room_is_what_the_run_may_observe(root: Path) -> None:
    (root / "f").write_text("".join(f"line {n}\n" for n in range(1, 1_001)))
    session = Session(Workspace(root), context=Context(max_observe=1_000))
    assert 400 < len(await done(editor_of(session)("view", "f"))) <= 1_000


async def test_long_lines_are_cut_and_can_be_seen_alone(edit: Edit, root: Path) -> None:
    (root / "f").write_text("short\n" + "é" * 5_000 + "\nlast\n" + "x" * 50_000)
    said = await done(edit("view", "f"))
    assert f"     2\t{'é' * 1_000} [… 4,000 more characters]\n     3\tlast\n" in said
    assert said.endswith("[long lines are cut; see more of one with view_range [2, 2]]")
    said = await done(edit("view", "f", view_range=[2, 2]))
    assert said == f"f (line 2 of 4, no newline at the end):\n     2\t{'é' * 5_000}"
    said = await done(edit("view", "f", view_range=[4, 4]))
    assert len(said) <= 10_000
    assert "[for the rest use a command, such as `sed -n 4p 'f' | cut -c " in said


async def test_pictures_are_shown_as_pictures(edit: Edit, root: Path) -> None:
    (root / "dot.dat").write_bytes(PNG)
    observation = await edit("view", "dot.dat")
    assert observation.text == f"dot.dat is a picture (image/png, {len(PNG)} bytes)."
    [image] = observation.images
    assert (image.mime, base64.b64decode(image.data)) == ("image/png", PNG)


@pytest.mark.parametrize(
    ("start", "mime"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"GIF87a", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
async def test_every_picture_that_models_see(
    edit: Edit, root: Path, start: bytes, mime: str
) -> None:
    (root / "p").write_bytes(start + b"\0rest")
    assert [image.mime for image in (await edit("view", "p")).images] == [mime]


async def test_a_picture_too_large_isrefused(edit: Edit, root: Path) -> None:
    (root / "p.png").write_bytes(PNG + bytes(5 * 2**20))
    said = await refused(edit("view", "p.png"))
    assert "is a picture (image/png) of 5,242,9" in said
    assert "make a smaller one of it first" in said


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("x.sqlite", b"SQLite format 3\0rest", "application/vnd.sqlite3"),
        ("x.pdf", b"%PDF-1.7\nall of it looks like text\n", "application/pdf"),
        (
            "x.docx",
            b"PK\x03\x04\0\0",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        ("x.zip", b"PK\x03\x04\0\0", "application/zip"),
        ("x.mp4", b"\0\0\0\x18ftypmp42", "video/mp4"),
        ("x", bytes(range(256)), "unknown type"),
        ("x", b"\xff\xfe\x00\xd8", "unknown type"),
        ("x", bytes(range(1, 32)) + b"\xe9", "unknown type"),
    ],
)
async def test_binary_files_are_refused_with_type_and_size(
    edit: Edit, root: Path, name: str, data: bytes, kind: str
) -> None:
    (root / name).write_bytes(data)
    said = (
        f"{name} is a binary file ({kind}, {len(data)} bytes), which cannot be shown or edited as "
        "text; use a program that knows its format."
    )
    assert await refused(edit("view", name)) == said
    assert await refused(edit("str_replace", name, old_str="a", new_str="b")) == said
    assert await refused(edit("insert", name, insert_line=0, new_str="b")) == said
    assert (root / name).read_bytes() == data


async def test_a_picture_is_not_edited(edit: Edit, root: Path) -> None:
    (root / "p.png").write_bytes(PNG)
    said = await refused(edit("insert", "p.png", insert_line=0, new_str="x"))
    assert said.startswith(f"p.png is a binary file (image/png, {len(PNG)} bytes)")


async def test_a_pipe_does_not_hang_theeditor_of(edit: Edit, root: Path) -> None:
    os.mkfifo(root / "pipe")
    for answer in (edit("view", "pipe"), edit("create", "pipe", file_text="x")):
        said = await refused(asyncio.wait_for(answer, 60))
        assert said == "pipe is no regular file but a pipe, socket or device."


async def test_a_huge_file_isrefused(edit: Edit, root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(2**40)
    said = await refused(edit("view", "huge"))
    assert said.startswith("huge has 1,099,511,627,776 bytes and only files of up to 33,554,432 ")
    assert await refused(edit("create", "huge", file_text="x")) == said


async def test_view_of_a_folder_is_two_levels_deep(edit: Edit, root: Path) -> None:
    (root / "b/c/d").mkdir(parents=True)
    (root / "b/c/d/deep").touch()
    (root / "b/.hidden").touch()
    (root / ".git").mkdir()
    (root / "a.txt").touch()
    (root / "b/c/e.txt").touch()
    (root / "link").symlink_to("b")
    title = "levels deep (hidden entries are not shown):\n"
    assert await done(edit("view", ".")) == (f"The workspace, 2 {title}a.txt\nb/\nb/c/\nlink -> b")
    assert await done(edit("view", "b")) == f"b, 2 {title}b/c/\nb/c/d/\nb/c/e.txt"
    assert await done(edit("view", "link/c")) == f"b/c, 2 {title}b/c/d/\nb/c/d/deep\nb/c/e.txt"


async def test_an_empty_folder(edit: Edit, root: Path) -> None:
    assert await done(edit("view", str(root))) == (
        "The workspace has no entries (hidden ones are not shown)."
    )


async def test_a_crowded_folder_is_bounded(edit: Edit, root: Path) -> None:
    for number in range(1_000):
        (root / f"file{number:04}").touch()
    lines = (await done(edit("view", "."))).split("\n")
    assert lines[1:101] == [f"file{number:04}" for number in range(100)]
    assert lines[101:] == ["[900 more entries in ./]"]
    for number in range(60):
        (root / f"d{number:02}").mkdir()
        for inner in range(60):
            (root / f"d{number:02}" / ("x" * 50 + str(inner))).touch()
    said = await done(edit("view", "."))
    assert len(said) <= 10_000
    assert said.endswith(" more lines are not shown; view a folder below]")


async def test_a_folder_is_no_file(edit: Edit, root: Path) -> None:
    (root / "d").mkdir()
    said = await refused(edit("view", "d", view_range=[1, 2]))
    assert said == "d is a folder; `view_range` is for files, leave it out."
    for answer in (
        edit("str_replace", "d", old_str="a", new_str="b"),
        edit("insert", "d", insert_line=0, new_str="b"),
        edit("undo_edit", "d"),
    ):
        assert await refused(answer) == "d is a folder; give the path of a file."
    assert (await refused(edit("undo_edit", "."))).startswith(". is the workspace itself; ")
