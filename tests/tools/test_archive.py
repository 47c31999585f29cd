"""The archive finds what was taken out, in any language, by words or by number."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.archive import Archive, Archived
from tools.recall import excerpt

MESSAGES = [
    Archived("a", 1, "agent", "I run the tests in tests/test_orders.py."),
    Archived("b", 2, "bash", "3 failed: test_refund_is_rounded, test_empty_cart"),
    Archived("c", 3, "user", "数据库的密码在配置文件里"),
    Archived("d", 4, "web_search", "La capitale de l'Islande est Reykjavík."),
    Archived("e", 5, "bash", "half a pair: \ud800"),
]


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    archive = Archive(tmp_path / "deep" / "archive.sqlite")
    archive.add(MESSAGES)
    return archive


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("refund", "b"),
        ("failing test empty_cart", "b"),
        ("orders", "a"),
        ("密码", "c"),
        ("配置文件", "c"),
        ("reykjavik", "d"),
        ('quotes " and * signs (refund)', "b"),
    ],
)
def test_search(archive: Archive, query: str, first: str) -> None:
    assert archive.search(query)[0].id == first


@pytest.mark.parametrize("query", ["", "zebra", '"', "*", "NEAR(zebra) NOT OR"])
def test_nothing_is_found(archive: Archive, query: str) -> None:
    assert archive.search(query) == []


def test_a_message_is_put_in_once_and_is_there_again_later(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    for _ in range(2):
        archive = Archive(path)
        archive.add(MESSAGES)
        archive.close()
    again = Archive(path)
    assert [m.id for m in again.numbered(2)] == ["b"]
    assert len(again.search("refund")) == 1
    assert again.numbered(9) == []
    again.close()


def test_an_excerpt_is_around_the_words() -> None:
    text = "x " * 2_000 + "needle" + " y" * 2_000
    shown = excerpt(text, "the Needle", 100)
    assert "needle" in shown
    assert (shown[:2], shown[-2:]) == ("… ", " …")
    assert excerpt("short", "needle") == "short"


def test_an_archive_takes_over_what_was_there_before_a_fork(tmp_path: Path) -> None:
    parent, child = tmp_path / "parent.sqlite", Archive(tmp_path / "child.sqlite")
    origin = Archive(parent)
    origin.add(MESSAGES)
    for _ in range(2):
        child.inherit(parent, 2)
    assert [m.id for n in range(1, 6) for m in child.numbered(n)] == ["a", "b"]
    origin.close()
    parent.unlink()
    assert child.search("refund")[0].id == "b"
    child.close()
    again = Archive(tmp_path / "child.sqlite")
    again.inherit(parent, 2)
    assert [m.id for n in range(1, 6) for m in again.numbered(n)] == ["a", "b"]
    again.close()


def test_an_archive_that_has_moved_with_its_workspace_is_found(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    origin = Archive(tmp_path / "new" / "parent.sqlite")
    origin.add(MESSAGES)
    origin.close()
    child = Archive(tmp_path / "new" / "child.sqlite")
    child.inherit(tmp_path / "old" / "parent.sqlite", 5)
    assert child.search("refund")[0].id == "b"
    child.close()


def test_where_there_is_nothing_to_take_over_nothing_is_made(tmp_path: Path) -> None:
    child = Archive(tmp_path / "child.sqlite")
    child.inherit(tmp_path / "none.sqlite", 5)
    assert not (tmp_path / "none.sqlite").exists()
    assert Archive().search("x") == []
    child.close()
