"""Whether the kernel reports a change in a workspace since its files were recorded."""

import gc
import mmap
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from manus.threads.snapshots.recorder import SnapshotRecorder
from manus.threads.snapshots.write_log import WriteLog
from manus.workspace.folder_watch import watch_folder
from manus.workspace.listing import TooManyFilesError, list_workspace


def _map(root: Path) -> None:
    with (root / "f/b").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0] = 50


def _read(root: Path) -> None:
    for folder, _, names in os.walk(root):
        for name in names:
            Path(folder, name).read_bytes()


ACTIONS: list[tuple[str, Callable[[Path], object], bool]] = [
    ("a write", lambda root: (root / "f/b").write_text("2"), True),
    ("a write to a mapped file", _map, True),
    ("a new file", lambda root: (root / "new").write_text("1"), True),
    ("a new folder", lambda root: (root / "f/new").mkdir(), True),
    ("a link", lambda root: (root / "link").symlink_to("a"), True),
    ("a removal", lambda root: (root / "f/b").unlink(), True),
    ("a move", lambda root: (root / "f/b").rename(root / "c"), True),
    ("a move of a folder", lambda root: (root / "f").rename(root / "g"), True),
    ("a program", lambda root: (root / "a").chmod(0o755), True),
    (
        "a write in a folder that a call created",
        lambda root: (root / "d/e/x").write_text("1"),
        True,
    ),
    ("a reader", _read, False),
    ("a cache", lambda root: (root / "node_modules/x").write_text("1"), False),
    ("a change outside", lambda root: (root.parent / "x").write_text("1"), False),
]


@pytest.mark.parametrize(
    ("act", "is_change"), [a[1:] for a in ACTIONS], ids=[a[0] for a in ACTIONS]
)
def test_a_change_is_noticed_without_a_listing(
    tmp_path: Path, act: Callable[[Path], object], is_change: bool
) -> None:
    root = tmp_path / "workspace"
    for folder in ("f", "node_modules"):
        (root / folder).mkdir(parents=True)
    for file in ("a", "f/b"):
        (root / file).write_text("1")
    recorder = SnapshotRecorder(root, tmp_path / "snapshots")
    writes = WriteLog(tmp_path / "writes")
    first = recorder.take("t", "", writes, "")
    assert first is not None
    assert recorder.is_current(first)
    (root / "d/e").mkdir(parents=True)
    second = recorder.take("t", first, writes, "")
    assert second is not None
    assert (recorder.is_current(first), recorder.is_current(second)) == (False, True)
    act(root)
    assert recorder.is_current(second) is not is_change
    recorder.close()


def test_a_file_with_a_name_outside_is_listed_each_time(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "a").write_text("1")
    (tmp_path / "a").hardlink_to(root / "a")
    recorder = SnapshotRecorder(root, tmp_path / "snapshots")
    snapshot = recorder.take("t", "", WriteLog(tmp_path / "writes"), "")
    assert snapshot is not None
    assert not recorder.is_current(snapshot)
    recorder.close()


def test_look_and_snapshot_share_a_listing(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "a").write_text("1")
    watch, own = watch_folder(root), tmp_path / "own"
    first = list_workspace(root, own, watch)
    assert list_workspace(root, own, watch) is first
    assert list_workspace(root, own, watch, is_fresh=True) is not first
    second = list_workspace(root, own, watch)
    (root / "b").write_text("1")
    third = list_workspace(root, own, watch)
    assert third is not second
    assert set(third.files) == {"a", "b"}
    with pytest.raises(TooManyFilesError):
        list_workspace(root, own, watch, limit=1)


def test_watches_that_nobody_uses_make_room(tmp_path: Path) -> None:
    """Descriptors and instances are limited, and the collector may be late."""
    gc.collect()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(link.name) for link in Path("/proc/self/fd").iterdir())
    fillers = [os.dup(1)]  # no lower number stays free
    while fillers[-1] < highest:
        fillers.append(os.dup(1))
    gc.disable()
    resource.setrlimit(resource.RLIMIT_NOFILE, (fillers[-1] + 9, limits[1]))
    try:
        for number in range(20):
            cycle: list[object] = [watch_folder(tmp_path / str(number))]
            cycle.append(cycle)
        watch = watch_folder(tmp_path)
        assert watch.count() == watch.count(), "the kernel reports changes"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        gc.enable()
        for filler in fillers:
            os.close(filler)
