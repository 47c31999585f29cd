"""The editor's `str_replace`, on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from manus.tools.session import Session
from tests.helpers.edits import Edit, done, editor_of, refused


@pytest.fixture
def edit(session: Session) -> Edit:
    return editor_of(session)


@pytest.fixture
def root(session: Session) -> Path:
    return session.workspace.root


async def test_replace_changes_the_place_and_shows_it(edit: Edit, root: Path) -> None:
    (root / "f.py").write_text("".join(f"{n}\n" for n in range(1, 21)))
    said = await done(edit("str_replace", "f.py", old_str="10\n11\n", new_str="ten\n"))
    assert said == (
        "Edited f.py. There it is now:\n"
        "     6\t6\n     7\t7\n     8\t8\n     9\t9\n    10\tten\n"
        "    11\t12\n    12\t13\n    13\t14\n    14\t15"
    )
    expected = [str(n) for n in range(1, 10)] + ["ten"] + [str(n) for n in range(12, 21)]
    assert (root / "f.py").read_text().split() == expected


async def test_without_a_new_text_the_old_one_is_removed(edit: Edit, root: Path) -> None:
    (root / "f").write_text("keep\ndrop\n")
    await done(edit("str_replace", "f", old_str="drop\n"))
    assert (root / "f").read_text() == "keep\n"
    assert await done(edit("str_replace", "f", old_str="keep\n", new_str="")) == (
        "Edited f. It is empty now."
    )


async def test_tabs_and_spaces_stay_what_they_are(edit: Edit, root: Path) -> None:
    (root / "Makefile").write_text("all:\n\tcc  -o x\n        spaces\n")
    await done(edit("str_replace", "Makefile", old_str="\tcc", new_str="\tgcc"))
    assert (root / "Makefile").read_text() == "all:\n\tgcc  -o x\n        spaces\n"


RUSSIAN = "Привет, мир. Это файл с текстом на русском языке.\n"
CHINESE = "你好，世界。这是一个文件，里面写的是中文。\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc", "b", "x\ny", b"a\r\nx\r\ny\r\nc"),
        (b"a\r\nb\r\nc", "a\nb", "x\ny", b"x\r\ny\r\nc"),
        (b"a\r\nb\r\nc", "a\r\nb", "x\ny", b"x\r\ny\r\nc"),
        (b"a\nb\r\nc\n", "a\nb", "x\ny", b"x\ny\r\nc\n"),
        (b"a\nb\r\nc\n", "b\nc", "x\ny", b"a\nx\r\ny\n"),
        (b"a\nb\n", "a", "x\r\ny", b"x\r\ny\nb\n"),
        (b"a\rb\n", "a", "x", b"x\rb\n"),
        (b"a\nb", "b", "c", b"a\nc"),
        (b"\xef\xbb\xbfa\n", "a", "\xe9", b"\xef\xbb\xbf\xc3\xa9\n"),
        (b"caf\xe9 \x93q\x94\n", "caf\xe9", "th\xe9", b"th\xe9 \x93q\x94\n"),
        (RUSSIAN.encode("cp1251"), "мир", "дом", RUSSIAN.replace("мир", "дом").encode("cp1251")),
        (
            CHINESE.encode("gb18030"),
            "世界",
            "大家",
            CHINESE.replace("世界", "大家").encode("gb18030"),
        ),
        ("\ufeffa\r\n".encode("utf-16-le"), "a", "\xe9→", "\ufeff\xe9→\r\n".encode("utf-16-le")),
        ("\ufeffa\n".encode("utf-16-be"), "a", "b", "\ufeffb\n".encode("utf-16-be")),
        (b"a\x0cb\x1cc\xc2\x85d\xe2\x80\xa8e\n", "b", "x", b"a\x0cx\x1cc\xc2\x85d\xe2\x80\xa8e\n"),
    ],
)
async def test_line_ends_encoding_and_marks_are_kept(
    edit: Edit, root: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    (root / "f").write_bytes(before)
    await done(edit("str_replace", "f", old_str=old, new_str=new))
    assert (root / "f").read_bytes() == after
    await done(edit("undo_edit", "f"))
    assert (root / "f").read_bytes() == before


async def test_what_an_old_encoding_cannot_hold_isrefused(edit: Edit, root: Path) -> None:
    (root / "f").write_bytes(b"caf\xe9\n")
    assert await refused(edit("str_replace", "f", old_str="caf", new_str="→")) == (
        "f is in cp1252, which has no place for '→' (U+2192); leave the character out, or "
        "convert the file to UTF-8 first."
    )
    assert (root / "f").read_bytes() == b"caf\xe9\n"


async def test_several_places_are_named_by_their_lines(edit: Edit, root: Path) -> None:
    (root / "f").write_text("x\ny x\n\nx\n")
    assert await refused(edit("str_replace", "f", old_str="x", new_str="z")) == (
        "`old_str` is not unique: it stands 3 times in f, on lines 1, 2, 4. Add lines before or "
        "after it until only one place is meant."
    )
    (root / "f").write_text("aaa")
    assert "2 times in f, on line 1." in await refused(
        edit("str_replace", "f", old_str="aa", new_str="b")
    )
    (root / "f").write_text("x\n" * 100_000)
    said = await refused(edit("str_replace", "f", old_str="x\n", new_str="z"))
    assert "at least 1000 times in f, on lines 1, 2, 3," in said
    assert len(said) < 300
    assert (root / "f").read_text() == "x\n" * 100_000


@pytest.mark.parametrize(
    ("text", "old", "where", "difference"),
    [
        (
            "def f():\n\treturn 1\n",
            "def f():\n    return 1",
            "     1\tdef f():\n     2\t\treturn 1",
            "the whitespace: there the line is indented with 1 tab, in `old_str` with 4 spaces",
        ),
        (
            "a\nb  \nc\n",
            "a\nb\nc",
            "     1\ta\n     2\tb  \n     3\tc",
            "the whitespace: there the line ends with 2 spaces, in `old_str` with no whitespace",
        ),
        ("a  =  1\n", "a = 1", "     1\ta  =  1", "the whitespace within the lines"),
        ("x\nend", "end\n", "     2\tend", "the file has no newline at its end"),
        (
            "say(“hi”)\n",
            'say("hi")',
            "     1\tsay(“hi”)",
            "typographic characters: quotation marks, dashes or no-break spaces",
        ),
        ("x\nHello\n", "hello", "     2\tHello", "upper and lower case letters"),
        (
            "x\ny\n",
            "     1\tx\n     2\ty",
            "     1\tx\n     2\ty",
            "the line numbers: `old_str` holds those of the view, which are not in the file",
        ),
        (
            "def total(items):\n    return sum(items)\n",
            "def total(item):\n    return sum(item)",
            "     1\tdef total(items):\n     2\t    return sum(items)",
            "there the line is `def total(items):`, in `old_str` it is `def total(item):`",
        ),
        (
            "one\ntwo\nthree hundred\n",
            "three hundred\nfour\nfive",
            "     3\tthree hundred",
            "the file ends before `old_str` does",
        ),
        (
            "a\r\nb  b\r\n",
            "a\nb b",
            "     1\ta\n     2\tb  b",
            "the whitespace within the lines",
        ),
    ],
)
async def test_what_is_not_there_gets_the_nearest_place_and_the_difference(
    edit: Edit, root: Path, text: str, old: str, where: str, difference: str
) -> None:
    (root / "f").write_text(text, newline="")
    assert await refused(edit("str_replace", "f", old_str=old, new_str="z")) == (
        f"`old_str` is not in f. Nearest to it:\n{where}\nThe difference: {difference}. "
        "Nothing was changed."
    )


@pytest.mark.parametrize("old", ["quite another thing", "\n \n\n\n", "é" * 10_000])
async def test_what_is_like_nothing_is_said_to_be_so(edit: Edit, root: Path, old: str) -> None:
    (root / "f").write_text("first\nsecond\n")
    assert await refused(edit("str_replace", "f", old_str=old, new_str="")) == (
        "`old_str` is not in f, nor anything like it. View the file and copy the text exactly."
    )


async def test_the_nearest_place_of_a_long_file_is_found(edit: Edit, root: Path) -> None:
    (root / "f").write_text("".join(f"value_{n} = compute({n}, base)\n" for n in range(10_000)))
    said = await refused(edit("str_replace", "f", old_str="value_7777 = compute(7777, bass)"))
    assert "  7778\tvalue_7777 = compute(7777, base)\n" in said


async def test_a_replacement_that_changes_nothing_isrefused(edit: Edit, root: Path) -> None:
    (root / "f").write_text("a\n")
    said = await refused(edit("str_replace", "f", old_str="a", new_str="a"))
    assert said == "`old_str` and `new_str` are the same, so nothing would change."
    assert (await refused(edit("str_replace", "f", old_str="", new_str="a"))).startswith(
        "`old_str` is empty; "
    )
