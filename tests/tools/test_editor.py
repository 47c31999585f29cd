"""The editor's changes: `create`, `str_replace`, `insert`, `undo_edit`, on real files."""

import asyncio
import os
import shutil
import stat
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from manus.calls.session import Resource, Session
from manus.tools.str_replace_editor import StrReplaceEditor
from manus.workspace.workspace import Workspace
from tests.helpers.child import FORKS
from tests.helpers.edits import Edit, build_editor, get_error, get_output, names_in


async def test_create_writes_exact_text_and_creates_folders(edit: Edit, root: Path) -> None:
    text = "\ttab\r\nünï 😀\n\n  no end"
    assert "(4 lines)" in await get_output(edit("create", "a/b/c.txt", file_text=text))
    assert (root / "a/b/c.txt").read_bytes() == text.encode()
    assert "(0 lines)" in await get_output(edit("create", "empty", file_text=""))
    (root / "plain").touch()
    assert (root / "empty").stat().st_mode == (root / "plain").stat().st_mode
    (root / "plain").write_text("old\n")
    (root / "plain").chmod(0o750)
    assert "had 4 bytes" in await get_output(edit("create", "plain", file_text="new\n"))
    assert (root / "plain").read_text() == "new\n"
    assert stat.S_IMODE((root / "plain").stat().st_mode) == 0o750


async def test_a_pipe_is_written_to_and_stays_a_pipe(edit: Edit, root: Path) -> None:
    os.mkfifo(root / "pipe")
    reader = os.open(root / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert "Wrote 4 bytes" in await get_output(edit("create", "pipe", file_text="tea\n"))
        assert os.read(reader, 100) == b"tea\n"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO((root / "pipe").stat().st_mode)
    assert names_in(root) == [".manus", "pipe"]
    assert "no program reads" in await get_error(edit("create", "pipe", file_text="x"))


async def test_an_edit_through_a_link_keeps_the_link(edit: Edit, root: Path) -> None:
    (root / "a.txt").write_text("old\n")
    (root / "link").symlink_to("a.txt")
    await get_output(edit("str_replace", "link", old_str="old", new_str="new"))
    assert (root / "link").readlink() == Path("a.txt")
    assert (root / "a.txt").read_text() == "new\n"


async def test_an_exact_edit_names_its_lines_without_repeating_the_text(
    edit: Edit, root: Path
) -> None:
    (root / "f").write_text("a\nb\nc\nd\n")
    exact = await edit("str_replace", "f", old_str="a\nb\nc\n", new_str="a\nB\nc\n")
    assert exact.text == "Edited f, line 2"
    assert exact.fingerprint == "@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n d"
    message = await get_output(edit("insert", "f", insert_line=4, new_str="x\n" * 500))
    assert message == "Edited f, lines 5–504"
    assert (
        await get_output(edit("str_replace", "f", old_str="c\nd\n"))
        == "Edited f, lines 3–4 removed"
    )
    assert (root / "f").read_text() == "a\nB\n" + "x\n" * 500
    message = await get_output(edit("str_replace", "f", old_str="a\nB\n" + "x\n" * 500))
    assert message == "Edited f. It is empty now."


REINDENTED = [
    # the file, `old_str`, `new_str`, the file afterwards
    ("def f():\n\treturn 1\n", "def f():\n    return 1", "def f():\n    x = 1\n    return x",
     "def f():\n\tx = 1\n\treturn x\n"),
    ("class A:\n    def f(self):\n        return 1\n", "def f(self):\n    return 1\n",
     "def f(self):\n    if self:\n        return 2\n",
     "class A:\n    def f(self):\n        if self:\n            return 2\n"),
    ("  a:\n    b: 1\n", "      a:\n        b: 1", "      a:\n        b: 2\n        c: 3",
     "  a:\n    b: 2\n    c: 3\n"),
    ("if x:\n    y\n\n    z\n", "  y\n\n  z", "  y\n\n  w", "if x:\n    y\n\n    w\n"),
    ("    return total\n", "        return total  ", "x", None),
    ("f:\n  a\n  b\n", "    a\n   b", "     c", None),
    ("  a\n  b\n    a\n    b\n", "a\n   b", "c", None),
    ("def f():\n    return 1\n", "def f():\n  return 1", "def f():\n     return 2", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "old", "new", "after"), REINDENTED)
async def test_an_edit_with_other_indentation_is_corrected_if_it_is_clear(
    edit: Edit, root: Path, text: str, old: str, new: str, after: str | None
) -> None:
    (root / "f").write_text(text)
    if after is None:
        error = await get_error(edit("str_replace", "f", old_str=old, new_str=new))
        assert (root / "f").read_text() == text
        assert "Nothing was changed" in error
        return
    error = await get_output(edit("str_replace", "f", old_str=old, new_str=new))
    assert (root / "f").read_text() == after
    assert "differed from the file in its indentation" in error
    assert "\n@@ " in error, "what was written is not what was requested, so it is shown"
    await get_output(edit("undo_edit", "f"))
    assert (root / "f").read_text() == text


MISALIGNED = [
    ("def f():\n    a\n    b\n", "  a\n", "  a\n  c\n", True),
    ("def f():\n    a\n", "a\n", "a\n\n\ndef g():\n    pass\n", True),
    ("def f():\n    a\n", "a\n", "a\n    c\n", False),
    ("def f():\n    a\n", "    a\n", "    a\n  c\n", False),
    ("def f():\n    a\n", "a\n", "c\n", False),
    ("x = f(a)\n", "f(a)\n", "g(\na)\n", False),
]


@pytest.mark.parametrize(("text", "old", "new", "is_shown"), MISALIGNED)
async def test_an_edit_within_the_indentation_is_shown_if_its_lines_may_be_wrong(
    edit: Edit, root: Path, text: str, old: str, new: str, is_shown: bool
) -> None:
    (root / "f").write_text(text)
    message = await get_output(edit("str_replace", "f", old_str=old, new_str=new))
    assert ("indentation is right:\n@@ " in message) is is_shown
    assert (root / "f").read_text() == text.replace(old, new)


async def test_an_exact_match_is_edited_exactly(edit: Edit, root: Path) -> None:
    """Even if another region differs only in its indentation."""
    (root / "f").write_text("  a\n    b\na\n  b\n")
    assert (
        await get_output(edit("str_replace", "f", old_str="a\n  b", new_str="c"))
        == "Edited f, line 3"
    )
    assert (root / "f").read_text() == "  a\n    b\nc\n"


LONGEST = "    raise NotImplementedError('the caller has to see to it that this is given')"
FORTY = "".join(f"def part_{n}(x):\n    y = {n}\n{LONGEST}\n" for n in range(40))
RUSSIAN = "Привет, мир. Это файл с текстом на русском языке.\n"
CHINESE = "你好，世界。这是一个文件，里面写的是中文。\n"


KEPT: list[tuple[bytes, str, str, bytes]] = [
    (b"all:\n\tcc  -o x\n", "\tcc", "\tgcc", b"all:\n\tgcc  -o x\n"),
    (b"a\r\nb\r\nc", "b", "x\ny", b"a\r\nx\r\ny\r\nc"),
    (b"a\r\nb\r\nc", "a\nb", "x\ny", b"x\r\ny\r\nc"),
    (b"a\r\nb\r\nc", "a\r\nb", "x\ny", b"x\r\ny\r\nc"),
    (b"a\nb\r\nc\n", "a\nb", "x\ny", b"x\ny\r\nc\n"),
    (b"a\nb\r\nc\n", "b\r\nc", "x\r\ny", b"a\nx\r\ny\n"),
    (b"a\nb\n", "a", "x\r\ny", b"x\r\ny\nb\n"),
    (b"\xef\xbb\xbfa\n", "a", "\xe9", b"\xef\xbb\xbf\xc3\xa9\n"),
    (b"caf\xe9 \x93q\x94\n", "caf\xe9", "th\xe9", b"th\xe9 \x93q\x94\n"),
    (RUSSIAN.encode("cp1251"), "мир", "дом", RUSSIAN.replace("мир", "дом").encode("cp1251")),
    (CHINESE.encode("gb18030"), "世", "大", CHINESE.replace("世", "大").encode("gb18030")),
    ("\ufeffa\r\n".encode("utf-16-le"), "a", "\xe9→", "\ufeff\xe9→\r\n".encode("utf-16-le")),
    (b"a\x0cb\x1cc\xc2\x85d\xe2\x80\xa8e\n", "b", "x", b"a\x0cx\x1cc\xc2\x85d\xe2\x80\xa8e\n"),
]


async def test_blanks_line_ends_encoding_and_marks_are_kept(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    for before, old, new, after in KEPT:
        with subtests.test(before=before, old=old):
            (root / "f").write_bytes(before)
            await get_output(edit("str_replace", "f", old_str=old, new_str=new))
            assert (root / "f").read_bytes() == after
            await get_output(edit("undo_edit", "f"))
            assert (root / "f").read_bytes() == before


LEGACY = ("def f(a):\n    return a  # 求和\n", "# 计算两个数字的总和并返回结果\n" * 12)


async def test_an_edit_in_an_uncertain_encoding_is_refused_unless_a_neighbour_decides(
    edit: Edit, root: Path
) -> None:
    before, long = (text.encode("gbk") for text in LEGACY)
    (root / "f").write_bytes(before)
    await get_output(edit("str_replace", "f", old_str="def f", new_str="def g"))
    renamed = before.replace(b"def f", b"def g")
    assert (root / "f").read_bytes() == renamed, "ASCII is written the same in any case"
    error = await get_error(edit("insert", "f", insert_line=2, new_str="# 返回结果"))
    assert "uncertain: its bytes fit " in error
    assert "iconv" in error
    assert (root / "f").read_bytes() == renamed
    (root / "long").write_bytes(long)
    await get_output(edit("insert", "f", insert_line=2, new_str="# 返回结果"))
    assert (root / "f").read_bytes() == renamed + "# 返回结果\n".encode("gbk")


OVERWRITTEN: list[tuple[bytes, str, bytes, str]] = [
    (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n", ""),
    (b"a\r\n", "c\r\n", b"c\r\n", ""),
    (b"a\n", "c\r\n", b"c\r\n", "was UTF-8 with line feeds"),
    (b"\xef\xbb\xbfa\n", "\xe9\n", b"\xef\xbb\xbf\xc3\xa9\n", ""),
    ("\ufeffa\n".encode("utf-16-le"), "→\n", "\ufeff→\n".encode("utf-16-le"), ""),
    (RUSSIAN.encode("cp1251") * 9, "мир\n", "мир\n".encode("cp1251"), ""),
    (RUSSIAN.encode("cp1251") * 9, "→\n", "→\n".encode(), "was probably cp1251"),
    (LEGACY[0].encode("gbk"), "# 返回\n", "# 返回\n".encode(), "was probably "),
    (b"\x89PNG\r\n\x1a\n\0", "text\n", b"text\n", ""),
]


async def test_create_keeps_the_form_of_a_file_or_says_that_it_changes(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    for before, text, after, change in OVERWRITTEN:
        with subtests.test(before=before, text=text):
            (root / "f").write_bytes(before)
            message = await get_output(edit("create", "f", file_text=text))
            assert (root / "f").read_bytes() == after
            assert change in message
            assert ("The old content was" in message) is bool(change)


CANNOT: list[tuple[bytes, str, dict[str, Any], str]] = [
    (b"x\ny x\n\nx\n", "str_replace", {"old_str": "x"}, "3 times in f, on lines 1, 2, 4."),
    (b"x\n" * 100_000, "str_replace", {"old_str": "x\n"}, "on lines 1, 2, 3,"),
    (b"a\n", "str_replace", {"old_str": "quite another"}, "nor is anything similar"),
    (b"a\n", "str_replace", {"old_str": ""}, "`old_str` is empty"),
    (b"a\n", "str_replace", {"old_str": "a", "new_str": "a"}, "nothing would change"),
    (b"caf\xe9\n", "str_replace", {"old_str": "caf", "new_str": "→"}, "cp1252"),
    (b"a\nb\n", "insert", {"insert_line": -1, "new_str": "x"}, "f has 2 lines"),
    (b"a\nb\n", "insert", {"insert_line": 10**12, "new_str": "x"}, "f has 2 lines"),
    (b"a\n", "create", {"file_text": "a\0b"}, "a NUL"),
    (b"a\n", "create", {"file_text": "a\ud800b"}, "U+D800"),
    (b"a\n", "create", {}, "`create` needs `file_text`"),
    (b"a\n", "str_replace", {}, "`str_replace` needs `old_str`"),
    (b"a\n", "insert", {"new_str": "x"}, "`insert` needs `insert_line`"),
    (b"a\n", "insert", {"insert_line": 1}, "`insert` needs `new_str`"),
    (b"a\n", "delete", {}, "(got 'delete')"),
]


async def test_impossible_edits_are_explained_and_change_nothing(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    for before, command, arguments, message in CANNOT:
        with subtests.test(before=before, command=command):
            (root / "f").write_bytes(before)
            answer = await get_error(edit(command, "f", **arguments))
            assert message in answer
            assert len(answer) < 500
            assert (root / "f").read_bytes() == before


NEAREST = [
    ("def f():\n\treturn 1\n", "def f():\n    return  1", [1, 2], r"'\treturn 1'"),
    ("a\nb  \nc\n", "a\nb\nc", [1, 2, 3], "`old_str`"),
    ("a  =  1\n", "a = 1", [1], "'a  =  1'"),
    ("x\nend", "end\n", [2], "past the end of the file"),
    ("say(“hi”)\n", 'say("hi")', [1], "'say(“hi”)'"),
    (
        "def total(items):\n    return sum(items)\n",
        "def total(item):\n    return sum(item)",
        [1, 2],
        "'def total(item):'",
    ),
    ("a\r\nb  b\r\n", "a\nb b", [1, 2], "'b  b'"),
    (FORTY, f"def part_33(x):\n    y =  33;\n{LONGEST}", [100, 101, 102], "'    y = 33'"),
]


async def test_missing_text_is_answered_with_the_closest_match_and_its_difference(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    for text, old, where, difference in NEAREST:
        with subtests.test(text=text, old=old):
            (root / "f").write_text(text, newline="")
            error = await get_error(edit("str_replace", "f", old_str=old, new_str="z"))
            lines = text.splitlines()
            place = "\n".join(f"{number:6}\t{lines[number - 1]}" for number in where)
            assert f"\n{place}\n" in error
            assert difference in error.partition(place)[2]
            assert (root / "f").read_bytes() == text.encode()


INSERTED = [
    (b"a\nb\n", 0, "x", b"x\na\nb\n"),
    (b"a\nb\n", 1, "x\n", b"a\nx\nb\n"),
    (b"a\nb\n", 2, "x\ny", b"a\nb\nx\ny\n"),
    (b"a\nb", 1, "x", b"a\nx\nb"),
    (b"a\nb", 2, "x", b"a\nb\nx"),
    (b"a\r\nb\r\n", 1, "x\ny", b"a\r\nx\r\ny\r\nb\r\n"),
    (b"", 0, "x", b"x\n"),
    (b"\xef\xbb\xbfa\n", 0, "x", b"\xef\xbb\xbfx\na\n"),
]


async def test_insert_adds_whole_lines_after_a_line(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    for before, line, new, after in INSERTED:
        with subtests.test(before=before, line=line):
            (root / "f").write_bytes(before)
            await get_output(edit("insert", "f", insert_line=line, new_str=new))
            assert (root / "f").read_bytes() == after


NOWHERE = (
    *("../out", "/etc/passwd", "out/f", "a\0b", "", "\ud800", ".manus/x", "x" * 300, "new/"),
    *("f/g", "f/g/h", "f"),
)


async def test_nothing_is_written_to_forbidden_paths(
    edit: Edit, root: Path, tmp_path_factory: pytest.TempPathFactory, subtests: pytest.Subtests
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (root / "out").symlink_to(elsewhere)
    (root / "f").write_text("a\n")
    (root / "f").chmod(0o444)
    for path in NOWHERE:
        with subtests.test(path=path):
            await get_error(edit("create", path, file_text="x"))
            await get_error(edit("undo_edit", path))
            assert list(elsewhere.iterdir()) == []
            assert names_in(root) == [".manus", "f", "out"]
            assert (root / "f").read_text() == "a\n"


async def test_a_link_stays_a_link_and_paths_stay_inside(
    edit: Edit, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "file"
    outside.write_text("a\n")
    (root / "real").hardlink_to(outside)
    (root / "link").symlink_to("real")
    await get_output(edit("str_replace", "link", old_str="a", new_str="b"))
    assert (root / "link").is_symlink()
    assert (root / "real").read_text() == "b\n"
    assert outside.read_text() == "a\n"
    name = "$(touch pwned); `touch pwned` && 'x' \"y\" *\n"  # which is never a command
    await get_output(edit("create", name, file_text="x\n"))
    assert "x" in await get_output(edit("view", name))
    assert names_in(root) == sorted([".manus", "link", "real", name])


async def test_undo_after_a_resume_by_any_name_loses_nothing(edit: Edit, root: Path) -> None:
    (root / "f").write_text("a")
    (root / "link").symlink_to("f")
    await get_output(edit("str_replace", "f", old_str="a", new_str="b"))
    (root / "f").write_text("from elsewhere")
    await get_error(edit("undo_edit", "f"))
    assert (root / "f").read_text() == "from elsewhere"
    (root / "f").write_text("b")
    again = build_editor(Session(Workspace(root)))
    await get_output(again("undo_edit", f"{root}/./link"))
    assert (root / "f").read_text() == "a"
    assert (root / "link").is_symlink()
    undo = Workspace(root).records / "undo"
    shutil.rmtree(undo)
    undo.touch()
    error = await get_error(edit("str_replace", "f", old_str="a", new_str="b"))
    assert "has been written, but" in error, "it cannot be undone"
    assert (root / "f").read_text() == "b"


async def test_as_many_undos_as_edits_lead_back(
    edit: Edit, root: Path, subtests: pytest.Subtests
) -> None:
    for start in (None, b"a\xff\r\na\n"):
        if start is not None:
            (root / "f").write_bytes(start)
        states = [start]
        for command, arguments in (
            ("create", {"file_text": "a\nb\n"}),
            ("insert", {"insert_line": 0, "new_str": "c"}),
            ("str_replace", {"old_str": "b", "new_str": "d"}),
        ):
            await get_output(edit(command, "f", **arguments))
            states.append((root / "f").read_bytes())
        for state in reversed(states[:-1]):
            with subtests.test(start=start, state=state):
                await get_output(edit("undo_edit", "f"))
                assert ((root / "f").read_bytes() if (root / "f").exists() else None) == state
        await get_error(edit("undo_edit", "f"))


def edit_all(root: Path, name: str, both: Barrier) -> None:
    """Edit each line with a name, while another process does the same with its own."""
    edit = build_editor(Session(Workspace(root)))

    async def every() -> None:
        for n in range(8):
            await get_output(
                edit("str_replace", "f", old_str=f"<{name} {n}>", new_str=f"[{name} {n}]")
            )

    both.wait(60)
    asyncio.run(every())


def test_two_processes_that_edit_one_file_lose_nothing(root: Path) -> None:
    file = root / "f"
    file.write_text("".join(f"<{name} {n}>\n" for n in range(8) for name in "ab"))
    both = FORKS.Barrier(2)
    pair = [FORKS.Process(target=edit_all, args=(root, name, both)) for name in "ab"]
    for process in pair:
        process.start()
    for process in pair:
        process.join(60)
    assert [process.exitcode for process in pair] == [0, 0]
    expected = "".join(f"[{name} {n}]\n" for n in range(8) for name in "ab")
    assert file.read_text() == expected


def test_the_resources_of_a_call(session: Session, subtests: pytest.Subtests) -> None:
    tool = StrReplaceEditor(session=session)
    for path in ("d/f", "./d//f", f"{session.workspace.root}/d/f"):
        with subtests.test(path=path):
            view, create = ({"command": c, "path": path} for c in ("view", "create"))
            assert tool.resources(view) == frozenset({Resource("workspace/d/f", write=False)})
            assert tool.resources(create) == frozenset({Resource("workspace/d/f", write=True)})
            assert tool.read_only(view)
            assert not tool.read_only(create)
