"""What files were before they were edited, kept on disk within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from manus.tools.editor.undo import KEEP, Record, UndoStore, digest


@pytest.fixture
def store(tmp_path: Path) -> UndoStore:
    return UndoStore(tmp_path / "undo")


def _record(before: bytes | None, after: bytes = b"after") -> Record:
    return Record("create", before, digest(after), 0o644, ("a", "a/b"))


def test_a_record_comes_back_as_it_was(store: UndoStore, tmp_path: Path) -> None:
    for before in (None, b"", b"\n{}\n\0\xff"):
        store.push("a/b/c", _record(before))
        assert UndoStore(tmp_path / "undo").last("a/b/c") == _record(before)


def test_the_newest_comes_first_and_paths_do_not_mix(store: UndoStore) -> None:
    store.push("f", _record(b"1"))
    store.push("g", _record(b"other"))
    store.push("f", _record(b"2"))
    assert store.last("f") == _record(b"2")
    store.drop("f")
    assert store.last("f") == _record(b"1")
    store.drop("f")
    store.drop("f")
    assert store.last("f") is None
    assert store.last("g") == _record(b"other")


def test_a_record_can_be_taken_back(store: UndoStore) -> None:
    store.push("f", _record(b"1"))
    store.push("f", _record(b"2")).unlink()
    assert store.last("f") == _record(b"1")


@pytest.mark.parametrize("junk", [b"", b"{}\nrest", b"[]\n", b"\xff\xfe", b'{"existed": 1\n'])
def test_a_damaged_record_is_passed_over(store: UndoStore, junk: bytes) -> None:
    store.push("f", _record(b"1"))
    store.push("f", _record(b"2")).write_bytes(junk)
    assert store.last("f") == _record(b"1")


def test_a_foreign_file_among_the_records_does_no_harm(store: UndoStore) -> None:
    kept = store.push("f", _record(b"1"))
    (kept.parent / "mine.undo").write_text("x")
    store.push("f", _record(b"2"))
    assert store.last("f") == _record(b"2")


def test_the_records_of_one_file_are_bounded(store: UndoStore) -> None:
    for number in range(KEEP + 10):
        store.push("f", _record(str(number).encode()))
    for number in reversed(range(10, KEEP + 10)):
        assert store.last("f") == _record(str(number).encode())
        store.drop("f")
    assert store.last("f") is None


def test_digests_tell_contents_apart() -> None:
    assert len({digest(None), digest(b""), digest(b"a")}) == 3
