"""Which parts of a workspace are recorded."""

from __future__ import annotations

import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from manus.threads.snapshots import recorder
from manus.threads.snapshots.objects import SnapshotStore, make_ref
from manus.threads.snapshots.recorder import SnapshotRecorder
from manus.workspace import listing
from manus.workspace.tree import Tree
from tests.helpers.writes import Known

REF = make_ref("t")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "a.txt").write_text("a")
    return root


@pytest.fixture
def files(root: Path) -> SnapshotRecorder:
    return SnapshotRecorder(root, root.parent / "snapshots")


def take(files: SnapshotRecorder, parent: str = "", paths: list[str] | None = None) -> str:
    return files.take(REF, parent, Known("agent"), "x", paths) or ""


def read_tree(files: SnapshotRecorder, snapshot: str) -> Tree:
    store = SnapshotStore.open(files.root.parent / "snapshots")
    assert store is not None
    return store.read_tree(snapshot)


def test_nothing_is_stored_if_nothing_has_changed(files: SnapshotRecorder, root: Path) -> None:
    first = take(files)
    assert take(files, first) == first
    (root / "a.txt").write_text("b")
    second = take(files, first)
    assert second != first
    again = SnapshotRecorder(root, root.parent / "snapshots")
    assert again.head(REF) == second
    assert take(again, second) == second


def test_a_change_within_a_tick_of_the_clock_is_seen(files: SnapshotRecorder, root: Path) -> None:
    snapshot = take(files)
    for number in range(100):
        (root / "a.txt").write_text(str(number % 10))  # same size, often same timestamp
        before = snapshot
        snapshot = take(files, before)
        assert snapshot != before


def test_omitted_files_are_reported(
    files: SnapshotRecorder, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_FILE_BYTES", 1000)
    (root / "node_modules").mkdir()
    (root / "node_modules" / "x.js").write_text("x")
    (root / "large.bin").write_bytes(b"x" * 1001)
    os.mkfifo(root / "pipe")
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    tree = read_tree(files, take(files))
    assert set(tree.entries) == {"a.txt"}
    assert set(tree.skipped) == {"node_modules", "large.bin", "pipe"}


def test_filters_and_attributes_of_a_repository_do_not_apply(
    files: SnapshotRecorder, root: Path
) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    subprocess.run(["git", "config", "filter.f.clean", f"touch {root}/ran"], cwd=root, check=True)
    (root / ".gitattributes").write_text("* text=auto eol=crlf filter=f\n")
    (root / "lines.txt").write_bytes(b"one\r\ntwo\n")
    tree = read_tree(files, take(files))
    store = SnapshotStore.open(root.parent / "snapshots")
    assert store is not None
    identifier = tree.entries["lines.txt"].object
    assert dict(store.read_objects([identifier])) == {identifier: b"one\r\ntwo\n"}
    assert not (root / "ran").exists()


def test_links_are_not_followed(files: SnapshotRecorder, root: Path) -> None:
    (root.parent / "secret").write_text("secret")
    (root.parent / "folder").mkdir()
    (root.parent / "folder" / "inner").write_text("secret")
    (root / "link").symlink_to("../secret")
    (root / "away").symlink_to("../folder")
    tree = read_tree(files, take(files))
    assert {path: entry.kind for path, entry in tree.entries.items()} == {
        "a.txt": "file",
        "link": "link",
        "away": "link",
    }


def test_only_the_named_files_are_read(files: SnapshotRecorder, root: Path) -> None:
    first = take(files)
    (root / "b.txt").write_text("b")
    (root / "new").mkdir()
    (root / "new").chmod(0o755)  # a folder with another mode has an entry of its own
    (root / "new" / "c.txt").write_text("c")
    (root / "a.txt").unlink()
    second = take(files, first, ["new/c.txt", "a.txt"])
    assert set(read_tree(files, second).entries) == {"new/c.txt"}
    third = take(files, second)
    assert set(read_tree(files, third).entries) == {"new/c.txt", "b.txt"}


def test_a_workspace_that_is_too_large_is_reported_once(
    files: SnapshotRecorder, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_FILES", 3)
    for number in range(5):
        (root / f"{number}.txt").write_text("x")
    reports: list[str] = []
    files.notify = reports.append
    assert take(files) == ""
    assert take(files) == ""
    assert reports == [recorder.TOO_MANY_FILES]


def test_snapshots_inside_the_workspace_are_not_recorded(root: Path) -> None:
    files = SnapshotRecorder(root, root / "state" / "snapshots")
    first = take(files)
    assert take(files, first) == first


def test_several_threads_create_the_store_at_once(root: Path) -> None:
    ready = threading.Barrier(8)

    def record(number: int) -> str | None:
        files = SnapshotRecorder(root, root.parent / "snapshots")
        ready.wait()
        return files.take(make_ref(str(number)), "", Known("agent"), "x")

    with ThreadPoolExecutor(8) as pool:
        snapshots = [*pool.map(record, range(8))]
    assert all(snapshots)


@pytest.mark.parametrize("lost", ["a content", "a tree"])
def test_what_a_damaged_store_has_lost_is_recorded_again(
    files: SnapshotRecorder, root: Path, lost: str
) -> None:
    (root / "b.txt").write_text("b")
    snapshot = take(files)
    store = SnapshotStore.open(root.parent / "snapshots")
    assert store is not None
    name = read_tree(files, snapshot).entries["a.txt"].object
    if lost == "a tree":
        name = store._run("rev-parse", f"{snapshot}^{{tree}}").decode().strip()
    (store.folder / "objects" / name[:2] / name[2:]).unlink()
    again = take(SnapshotRecorder(root, root.parent / "snapshots"), snapshot)
    assert again not in ("", snapshot)
    entries = read_tree(files, again).entries
    assert entries.keys() == {"a.txt", "b.txt"}
    assert store.find_missing(entry.object for entry in entries.values()) == set()
