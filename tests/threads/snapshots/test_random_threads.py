"""Random programs of a thread, while a user and a second thread write into the same folders.

Rewinds are killed at random moments and repeated. Afterwards the thread's files are those of the
snapshot, and no file of the others has changed.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from manus.sandbox.child import Child
from manus.sandbox.supervisor import WriteSupervisor
from manus.threads.snapshots.recorder import SnapshotRecorder
from manus.threads.snapshots.thread_files import ThreadFiles
from manus.workspace.workspace import Workspace

FOLDERS = (".", "src", "src/deep")
ACTIONS = (
    "echo {number} > {old}",
    "echo {number} >> {old}",
    "rm -f {old}",
    "mv {old} {new} 2>/dev/null",
    "cp {old} {new} 2>/dev/null",
    "chmod 700 {old} 2>/dev/null",
    "ln -sfn {number} {new}",
    "mkdir -p {name}dir/in; echo {number} > {name}dir/in/{name}; mv {name}dir {name}moved",
    "rm -rf {name}moved {name}dir",
    "(sleep 0.0{number}; echo {number} > {old}) & wait",
    'python3 -c \'import os; open("{new}", "w").write("{number}"); os.replace("{new}", "{old}")\'',
)
REWIND = """
import os, sys, threading
from pathlib import Path
from manus.threads.snapshots.rewinding import restore_snapshot
from manus.threads.snapshots.write_log import WriteLog
from manus.workspace.workspace import Workspace

root, snapshot, seconds = sys.argv[1:]
timer = threading.Timer(float(seconds), lambda: os.kill(os.getpid(), 9))
timer.daemon = True
timer.start()
result = restore_snapshot(Workspace(root), "t", snapshot, WriteLog(Path(root).parent / "none"))
assert not result.failed, result.failed
"""


class Person:
    """Writes, renames and deletes files of his own all the time, and knows what they contain."""

    def __init__(self, root: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._root = root
        self._stop = threading.Event()
        self.files: dict[str, str] = {}
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        while not self._stop.wait(0.002):
            name = f"{self._random.choice(FOLDERS)}/u{self._random.randrange(9)}"
            path = self._root / name
            if self._random.random() < 0.3:
                path.unlink(missing_ok=True)
                self.files.pop(name, None)
            else:
                content = str(self._random.random())
                path.write_text(content)
                self.files[name] = content

    def stop(self) -> dict[str, str]:
        self._stop.set()
        self._thread.join()
        return self.files


def make_program(choices: random.Random, prefix: str) -> str:
    """Return a shell script that changes files whose names start with a prefix."""
    lines = []
    for _ in range(choices.randint(1, 8)):
        old, new = (f"{choices.choice(FOLDERS)}/{prefix}{choices.randrange(6)}" for _ in range(2))
        number = choices.randrange(10)
        action = choices.choice(ACTIONS)
        lines.append(action.format(old=old, new=new, name=prefix, number=number))
    return "\n".join(lines)


def read(root: Path, prefix: str) -> dict[str, tuple[int, bytes]]:
    """Return the files whose names start with a prefix."""
    entries = {}
    for folder, folders, files in os.walk(root):  # which skips folders that others delete meanwhile
        for path in (Path(folder, name) for name in folders + files if name.startswith(prefix)):
            if path.is_symlink():
                entries[str(path.relative_to(root))] = (0, os.fsencode(path.readlink()))
            elif path.is_file():
                entries[str(path.relative_to(root))] = (path.stat().st_mode, path.read_bytes())
    return entries


class Thread:
    """A thread that runs programs in a workspace."""

    def __init__(self, workspace: Workspace, name: str, prefix: str, seed: int) -> None:
        self._root = workspace.root
        self._prefix = prefix
        self._random = random.Random(seed)
        self.recorder = SnapshotRecorder(self._root, workspace.records / "snapshots")
        self.files = ThreadFiles(self.recorder, name)
        self.supervisor = WriteSupervisor(self._root, self.files.writes)

    async def call(self) -> tuple[str, dict[str, tuple[int, bytes]]]:
        """Run a program; return the snapshot after it, and the thread's files."""
        async with self.files.around_call("x", ["workspace"], is_logged=True):
            program = await self.supervisor.start(
                partial(
                    Child.launch,
                    ["bash", "-c", make_program(self._random, self._prefix)],
                    directory=self._root,
                    environment=os.environ,
                    stdin=subprocess.DEVNULL,
                    output=subprocess.DEVNULL,
                    descriptors=(),
                )
            )
            await program.wait()
        return self.files.head, read(self._root, self._prefix)

    async def close(self) -> None:
        self.supervisor.close()
        await self.files.close()


async def rewind(root: Path, snapshot: str, choices: random.Random) -> int:
    """Rewind in processes that are killed, until one completes; return the number of kills."""
    kills = 0
    while True:
        seconds = choices.uniform(0, 0.5) if kills < 3 else 600
        words = [sys.executable, "-c", REWIND, str(root), snapshot, str(seconds)]
        process = await asyncio.create_subprocess_exec(*words)
        if await process.wait() == 0:
            return kills
        assert process.returncode == -9
        kills += 1


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(s, marks=pytest.mark.exhaustive) for s in range(2, 24))]
)
async def test_nothing_of_others_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    choices = random.Random(seed)
    workspace = Workspace(tmp_path / "workspace")
    workspace.prepare()
    (workspace.root / "src" / "deep").mkdir(parents=True)
    person = Person(workspace.root, seed)
    try:
        for _ in range(2):
            thread = Thread(workspace, "t", "a", choices.randrange(10**6))
            other = Thread(workspace, "other", "b", choices.randrange(10**6))
            states = [await thread.call()]
            for _ in range(3):
                state, last = await asyncio.gather(thread.call(), other.call())
                states.append(state)
            await thread.close()
            await other.close()
            snapshot, expected = choices.choice(states)
            await rewind(workspace.root, snapshot, choices)
            assert read(workspace.root, "a") == expected
            assert read(workspace.root, "b") == last[1]
    finally:
        files = person.stop()
    assert {name: (workspace.root / name).read_text() for name in files} == files
    assert {*read(workspace.root, "u")} == {os.path.normpath(name) for name in files}
