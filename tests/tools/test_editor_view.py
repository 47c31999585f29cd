"""The editor's `view` of files, images and folders."""

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.edits import Edit, get_error, get_output
from tests.helpers.tools import RED_DOT

PNG = base64.b64decode(RED_DOT)


async def test_view_numbers_lines_and_mentions_omitted_ones(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    utf_16 = b"\xff\xfe" + "a\r\nb\r\n".encode("utf-16-le")
    views = {
        "4 lines, no newline at the end": (b"one\n\ttwo\n\nfour", ["one", "\ttwo", "", "four"]),
        "2 lines, UTF-16-LE with a byte order mark, lines end with CRLF": (utf_16, ["a", "b"]),
        "1 line, probably cp1252, a guess": (b"caf\xe9 \x93q\x94\n", ["café “q”"]),
    }
    for title, (data, lines) in views.items():
        with subtests.test(title=title, data=data):
            (root / "f").write_bytes(data)
            numbered = [f"{number:6}\t{line}" for number, line in enumerate(lines, 1)]
            assert (await get_output(edit("view", "f"))).split("\n") == [f"f ({title}):", *numbered]


async def test_view_of_a_part(edit: Edit, root: Path, subtests: pytest.Subtests) -> None:
    (root / "f").write_text("1\n2\n3\n4\n5\n")
    parts: list[tuple[Any, str, int, int]] = [
        ([2, 3], "lines 2 to 3 of 5", 2, 3),
        ([4, -1], "lines 4 to 5 of 5", 4, 5),
        ([3, 3], "line 3 of 5", 3, 3),
        ([4, 99], "lines 4 to 5 of 5", 4, 5),
        ("[2, 3]", "lines 2 to 3 of 5", 2, 3),
    ]
    for view_range, title, first, last in parts:
        with subtests.test(view_range=view_range, title=title):
            lines = [f"f ({title}):", *(f"{n:6}\t{n}" for n in range(first, last + 1))]
            assert (await get_output(edit("view", "f", view_range=view_range))).split("\n") == lines
    for wrong in ([0, 1], [6, 7], [3, 2], [-2, -1], [2, -3], [1, 2, 3]):
        with subtests.test(wrong=wrong):
            assert "`view_range`" in await get_error(edit("view", "f", view_range=wrong))
    empty: dict[str, Any] = {"file_text": "", "old_str": None, "new_str": "", "insert_line": 0}
    assert "f (5 lines)" in await get_output(edit("view", "f", **empty, view_range=None))


async def test_a_long_file_is_seen_whole_by_following_the_hints(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    (root / "f").write_text("".join(f"line {n}\n" for n in range(1, 2_001)))
    last, view_range = 0, [1, -1]
    while last < 2_000:
        message = await get_output(edit("view", "f", view_range=view_range))
        assert len(message) <= 10_000
        for line in message.split("\n")[1:]:
            with subtests.test(line=line):
                if line.startswith("["):
                    view_range = [last + 1, -1]
                    assert f"view_range [{last + 1}, " in line
                    assert ("`grep -n`" in line) == (last < 500)
                else:
                    last += 1
                    assert line == f"{last:6}\tline {last}"
    (root / "f").write_text("".join(f"line {n}\n" for n in range(1, 9_001)))
    assert 3_000 < len(await get_output(edit("view", "f", view_range=None))) < 4_000


PICTURES = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0\0",
    "image/webp": b"RIFF\x10\0\0\0WEBPVP8 \0",
}
BINARY = {
    "x.pdf": (b"%PDF-1.7\nall of it looks like text\n", "application/pdf"),
    "a": (bytes(range(256)), "unknown type"),
}


async def test_images_are_shown_and_binary_files_are_not_edited(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    for mime, data in PICTURES.items():
        with subtests.test(mime=mime, data=data):
            (root / "dot.dat").write_bytes(data)
            [image] = (await edit("view", "dot.dat")).images
            assert (image.mime, base64.b64decode(image.data)) == (mime, data)
            assert mime in await get_error(edit("insert", "dot.dat", insert_line=0, new_str="x"))
            assert (root / "dot.dat").read_bytes() == data
    for name, (data, kind) in BINARY.items():
        with subtests.test(name=name, data=data):
            (root / name).write_bytes(data)
            fact = f"{name} is a binary file ({kind}, {len(data)} bytes)"
            assert fact in await get_error(edit("view", name))
            assert fact in await get_error(edit("str_replace", name, old_str="a", new_str="b"))
            assert (root / name).read_bytes() == data


async def test_a_pipe_does_not_hang_it_nor_a_huge_file(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    os.mkfifo(root / "pipe")
    with (root / "huge").open("wb") as file:
        file.truncate(2**40)
    for name, message in (("pipe", "not a regular file"), ("huge", "1,099,511,627,776 bytes")):
        for answer in (edit("view", name), edit("create", name, file_text="x")):
            with subtests.test(name=name, message=message):
                assert message in await get_error(asyncio.wait_for(answer, 60))


async def test_view_of_a_folder_is_two_levels_deep(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    (root / "b/c/d").mkdir(parents=True)
    (root / "b/c/d/deep").touch()
    (root / "b/.hidden").touch()
    (root / "a.txt").touch()
    (root / "b/c/e.txt").touch()
    (root / "link").symlink_to("b")
    for path, lines in [
        (".", ["a.txt", "b/", "b/c/", "link -> b"]),
        ("link/c", ["b/c/d/", "b/c/d/deep", "b/c/e.txt"]),
    ]:
        with subtests.test(path=path, lines=lines):
            assert (await get_output(edit("view", path))).split("\n")[1:] == lines


async def test_a_folder_is_not_a_file_and_a_large_one_is_truncated(edit: Edit, root: Path) -> None:
    assert "`view_range`" in await get_error(edit("view", ".", view_range=[1, 2]))
    await get_error(edit("str_replace", ".", old_str="a", new_str="b"))
    await get_error(edit("insert", ".", insert_line=0, new_str="b"))
    await get_error(edit("undo_edit", "."))
    await get_error(edit("create", ".", file_text="x"))
    for number in range(150):
        (root / f"file{number:04}").touch()
    lines = (await get_output(edit("view", "."))).split("\n")
    assert lines[1:] == [*(f"file{n:04}" for n in range(100)), "[50 more entries in ./]"]


async def test_a_missing_path_suggests_similar_ones(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    assert await get_error(edit("view", "app.py")) == "There is no app.py in the workspace."
    (root / "src").mkdir()
    (root / "src/app.py").touch()
    for path in ("app.py", "src/ap.py"):
        with subtests.test(path=path):
            assert "Did you mean src/app.py?" in await get_error(edit("view", path))
    (root / "ring").symlink_to("ring")
    assert await get_error(edit("view", "ring")) == "There is no ring in the workspace."
