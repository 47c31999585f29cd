"""Restoring a workspace: random programs, other people's work, damage."""

from __future__ import annotations

import os
import random
import stat
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from manus.threads.snapshots.objects import Author, SnapshotStore, make_ref
from manus.threads.snapshots.recorder import SnapshotRecorder
from manus.threads.snapshots.restore import Restoration, plan_restore
from tests.helpers.writes import Known

REF = make_ref("t")
NAMES = ["a", "b.txt", "c c", "田.md", "new\nline", "-x", 'q"uote', "tab\t", "\udcff\udcfe"]
CONTENTS = [b"", b"one\n", b"one\r\ntwo\r\n", bytes(range(256)), "世界".encode(), b"x" * 70_000]


class Disk:
    """A workspace, its recorder and its store."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "workspace"
        self.root.mkdir()
        self.folder = folder / "snapshots.git"
        self.recorder = SnapshotRecorder(self.root, self.folder)
        self.reports: list[str] = []
        self.recorder.notify = self.reports.append
        self.head = ""

    @property
    def store(self) -> SnapshotStore:
        store = SnapshotStore.open(self.folder)
        assert store is not None
        return store

    def take(self, author: Author = "agent", paths: Sequence[str] | None = None) -> str:
        self.head = self.recorder.take(REF, self.head, Known(author), "a label", paths) or ""
        return self.head

    def rewind(self, snapshot: str, *, theirs: bool = False) -> Restoration:
        current = self.store.read_tree(self.head)
        plan = plan_restore(self.store, snapshot, self.head, current, theirs=theirs)
        restoration = Restoration(self.root, self.store, plan)
        restoration.run()
        assert restoration.failed == {}
        return restoration

    def path(self, name: str) -> Path:
        return self.root / name


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def read(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return mode and contents of everything in a folder, except `.git`."""
    entries = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            content = b""
            if stat.S_ISLNK(status.st_mode):
                content = os.fsencode(path.readlink())
            elif stat.S_ISREG(status.st_mode):
                content = path.read_bytes()
            entries[os.path.relpath(path, root)] = (status.st_mode, content)
    return entries


class Program:
    """Changes a workspace at random."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)

    def run(self) -> None:
        actions: list[Callable[[], None]] = [
            *(self.write, self.write, self.write, self.remove, self.move, self.chmod),
            *(self.make_folder, self.link, self.swap, self.shell),
        ]
        for _ in range(self.random.randint(1, 6)):
            self.random.choice(actions)()

    def new(self) -> Path:
        folders = [self.root, self.root / "repository"]
        folders += [path for path in self.found() if path.is_dir() and not path.is_symlink()]
        return self.random.choice(folders) / self.random.choice(NAMES)

    def old(self) -> Path:
        return self.random.choice(self.found() or [self.new()])

    def found(self) -> list[Path]:
        paths = sorted(self.root.rglob("*"))
        return [p for p in paths if ".git" not in p.parts and p.name != "repository"]

    def write(self) -> None:
        path = self.new()
        if not path.is_symlink() and not path.is_dir():
            path.write_bytes(self.random.choice(CONTENTS))

    def remove(self) -> None:
        subprocess.run(["rm", "-rf", "--", self.old()], check=True)

    def move(self) -> None:
        old, new = self.old(), self.new()
        if os.path.lexists(old) and not os.path.lexists(new) and old not in new.parents:
            old.rename(new)

    def chmod(self) -> None:
        path = self.old()
        if path.exists() and not path.is_symlink():
            mode = [0o700, 0o755, 0o777] if path.is_dir() else [0o600, 0o644, 0o755, 0o640]
            path.chmod(self.random.choice(mode))

    def make_folder(self) -> None:
        path = self.new()
        if not os.path.lexists(path):
            path.mkdir()

    def link(self) -> None:
        path = self.new()
        if not os.path.lexists(path):
            path.symlink_to(self.random.choice(["a", "missing", "../../outside", "."]))

    def swap(self) -> None:
        """Replace a file with a folder, or a folder with a file."""
        path = self.old()
        if path.is_file() and not path.is_symlink():
            path.unlink()
            path.mkdir()
            (path / "inside").write_text("x")
        elif path.is_dir() and not path.is_symlink():
            subprocess.run(["rm", "-rf", "--", path], check=True)
            path.write_text("was a folder")

    def shell(self) -> None:
        commands = [
            *("mkdir -p x/y/z; echo 1 > x/y/z/1", "rm -rf x", "echo more >> a"),
            *("cp -a x x$RANDOM", "sed -i s/one/two/ *", "tar c x | tar x -C repository"),
        ]
        command = ["bash", "-c", self.random.choice(commands)]
        subprocess.run(command, cwd=self.root, check=False, capture_output=True)


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(s, marks=pytest.mark.exhaustive) for s in range(10, 60))]
)
def test_random_programs(disk: Disk, seed: int) -> None:
    program = Program(disk.root, seed)
    subprocess.run(["git", "init", "-q", "repository"], cwd=disk.root, check=True)
    states = []
    for _ in range(8):
        program.run()
        states.append((disk.take(), read(disk.root)))
    for _ in range(4):
        snapshot, state = program.random.choice(states)
        disk.rewind(snapshot)
        assert read(disk.root) == state
        states.append((disk.take("rewind"), read(disk.root)))
    assert disk.reports == []


@pytest.mark.parametrize("theirs", [False, True])
def test_a_file_that_somebody_else_changed_between_two_calls_is_kept(
    disk: Disk, theirs: bool
) -> None:
    path = disk.path("a.txt")
    path.write_text("before")
    start = disk.take("outside")
    path.write_text("by a call")
    disk.take()
    path.write_text("a person's edit")
    disk.take("outside")
    path.write_text("a person's edit, continued by a call")
    disk.take()
    disk.rewind(start, theirs=theirs)
    expected = "before" if theirs else "a person's edit, continued by a call"
    assert path.read_text() == expected
