"""Which paths the programs of a sandbox change, as their supervisor logs them."""

# ruff: noqa: E501 - commands are easier to read on one line
from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from manus.sandbox.child import Child
from manus.sandbox.supervisor import WriteSupervisor
from manus.threads.snapshots.write_log import WriteLog
from tests.helpers.processes import until
from tests.threads.snapshots.test_restore import read

COMMANDS = {
    "new file": "echo 1 > new",
    "append": "echo 1 >> a",
    "read and write": "exec 3<> a; echo 1 >&3",
    "through a link": "echo 1 > to_a",
    "through a linked folder": "echo 1 > to_f/b; rm to_f/c",
    "through a new link to a folder": "ln -s f/g here; echo 1 > here/x; rm here; mkdir here; echo > here/y",
    "up and down": "cd f/g; echo 1 > ../../a; echo 2 > ./../b",
    "root in another name": "cd /; echo 1 > $OLDPWD/../workspace/a",
    "delete": "rm a f/b",
    "delete a folder": "rm -rf f",
    "rename": "mv a moved",
    "rename over": "mv a f/b",
    "rename a folder": "mv f moved; echo 1 > moved/b",
    "rename a folder into another": "mkdir other; mv f other/; rm other/f/b",
    "exchange": 'python3 -c \'import ctypes; ctypes.CDLL(None).renameat2(-100, b"f", -100, b"h", 2)\'',
    "from outside": "mkdir -p $OUT/new/d; echo 1 > $OUT/new/d/e; mv $OUT/new .",
    "to outside": "mv f $OUT/",
    "hard link": "ln a hard; rm a",
    "symbolic link": "ln -s a soft; ln -sfn f/g to_f",
    "mode": "chmod 600 a; chmod 700 f",
    "mode of a descriptor": "python3 -c 'import os; os.fchmod(os.open(\"a\", 0), 0o600)'",
    "truncate": "truncate -s 1 a; python3 -c 'import os; os.truncate(\"f/b\", 1)'",
    "map": 'python3 -c \'import mmap; f = open("a", "r+b"); m = mmap.mmap(f.fileno(), 0); m[0] = 1\'',
    "copy": "cp -a f copy; install -m 700 a tool",
    "archive": "tar c f | tar x -C h",
    "in place": "sed -i s/a/b/ a f/b; perl -pi -e 's/b/c/' a",
    "descriptor": "exec 3<a; echo 1 > /proc/self/fd/3; echo 2 > /dev/fd/3",
    "output": "(echo 1 > /dev/stdout) > out",
    "other directory": 'python3 -c \'import os; d = os.open("f", 0); os.open("x", 65, dir_fd=d); os.unlink("b", dir_fd=d)\'',
    "threads": "python3 -c 'import threading; [threading.Thread(target=lambda i=i: open(str(i), \"w\")).start() for i in range(50)]'",
    "children": "for i in $(seq 50); do (echo $i > n$i; rm -f n$((i - 9))) & done; wait",
    "names": "echo 1 > $'new\\nline'; echo 2 > $'\\xff\\xfe'; echo 3 > 田; echo 4 > ' x '",
    "temporary file": 'python3 -c \'import os; d = os.open(".", os.O_TMPFILE | 2); import ctypes; assert not ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % d, -100, b"t", 1024)\'',
    "long name": "mkdir -p $(printf 'd%.0s/' $(seq 200)) && echo 1 > $(printf 'd%.0s/' $(seq 200))x",
    "fifo": "mkfifo pipe; cat pipe > copy & echo 1 > pipe; wait",
    "git": "git init -q . && git add a && git -c user.name=x -c user.email=x commit -qm x && git rm -q a",
}
UNTOUCHED = {
    "reading": "cat a f/b; ls -la f; find . | xargs stat > /dev/null; python3 -c 'open(\"a\").read()'",
    "outside": "echo 1 > $OUT/x; mkdir $OUT/d; rm -rf $OUT/d; echo 1 > /dev/null",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "f" / "g").mkdir(parents=True)
    (root / "h").mkdir()
    (tmp_path / "out").mkdir()
    for name in ("a", "f/b", "f/c", "f/g/d", "h/i"):
        (root / name).write_text("a\n")
    (root / "to_a").symlink_to("a")
    (root / "to_f").symlink_to("f")
    return root


@pytest.fixture
def writes(tmp_path: Path) -> WriteLog:
    return WriteLog(tmp_path / "writes")


@pytest.fixture
async def supervisor(root: Path, writes: WriteLog) -> AsyncIterator[WriteSupervisor]:
    supervisor = WriteSupervisor(root, writes)
    yield supervisor
    supervisor.close()


async def run(supervisor: WriteSupervisor, root: Path, *argv: str) -> int:
    program = await supervisor.start(
        partial(
            Child.launch,
            argv,
            directory=root,
            environment={**os.environ, "OUT": str(root.parent / "out")},
            stdin=subprocess.DEVNULL,
            output=subprocess.DEVNULL,
            descriptors=(),
        )
    )
    return await program.wait()


async def test_every_change_is_logged(
    supervisor: WriteSupervisor, root: Path, writes: WriteLog, subtests: pytest.Subtests
) -> None:
    for name, command in {**COMMANDS, **UNTOUCHED}.items():
        with subtests.test(name):
            subprocess.run(["bash", "-c", "rm -rf .git * && cp -a ../fresh/. ."], cwd=root)
            (root.parent / "fresh").mkdir(exist_ok=True)
            if not any((root.parent / "fresh").iterdir()):
                subprocess.run(["bash", "-c", PREPARE], cwd=root, check=True)
                subprocess.run(["cp", "-a", ".", "../fresh"], cwd=root, check=True)
            before = read(root)
            writes.forget(writes.settle())
            assert await run(supervisor, root, "bash", "-c", command) == 0
            after = read(root)
            changed = {
                path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
            }
            assert {path for path in changed if writes.find_author(path) != "agent"} == set()
            assert writes.find_author("never/named") == "outside"
            assert (name in UNTOUCHED) == (not changed)
            assert (name in UNTOUCHED) <= (not writes.paths)


PREPARE = """
mkdir -p f/g h; for name in a f/b f/c f/g/d h/i; do echo a > $name; done
ln -sfn a to_a; ln -sfn f to_f
"""


async def test_a_file_with_other_names_changes_under_unknown_names(
    supervisor: WriteSupervisor, root: Path, writes: WriteLog
) -> None:
    os.link(root / "a", root / "other")
    await run(supervisor, root, "bash", "-c", "echo 1 > a")
    assert [writes.find_author(path) for path in ("a", "other")] == ["agent", "unknown"]


async def test_changes_of_others_are_not_logged(
    supervisor: WriteSupervisor, root: Path, writes: WriteLog
) -> None:
    (root / "mine").write_text("1")
    subprocess.run(["bash", "-c", "echo 1 > f/b"], cwd=root, check=True)
    await run(supervisor, root, "sh", "-c", "echo 1 > a")
    assert writes.paths == ["a"]


async def test_a_background_process_is_logged_until_it_closes_its_files(
    supervisor: WriteSupervisor, root: Path, writes: WriteLog
) -> None:
    script = "(exec 3> log; echo 1 >&3; until [ -e stop ]; do sleep 0.01; done; echo 2 >&3) & "
    starter = f"{script} echo 1 > b; while :; do sleep 1; done"
    program = await supervisor.start(
        partial(
            Child.launch,
            ["bash", "-c", starter],
            directory=root,
            environment=os.environ,
            stdin=subprocess.DEVNULL,
            output=subprocess.DEVNULL,
            descriptors=(),
        )
    )
    await until(lambda: {"log", "b"} <= {*(writes.paths or ())})

    def is_other_settled() -> bool:
        writes.forget(writes.settle())
        return writes.paths == ["log"]

    await until(is_other_settled)
    (root / "stop").write_text("")
    os.killpg(program.pid, 9)
    await program.wait()

    def is_settled() -> bool:
        writes.forget(writes.settle())
        return writes.paths == []

    await until(is_settled)
    assert writes.paths == []


async def test_a_failure_of_the_supervisor_blocks_no_program(
    supervisor: WriteSupervisor, root: Path, writes: WriteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program gets no ENOSYS either, and all later changes have an unknown author."""

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(supervisor, "_resolve", fail)
    assert await run(supervisor, root, "bash", "-c", "echo 1 > new && rm a && mkdir d") == 0
    assert (root / "new").exists()
    assert writes.paths is None
    assert writes.find_author("new") == "unknown"


async def test_programs_end_with_their_supervisor(root: Path, writes: WriteLog) -> None:
    """No thread stays behind."""
    threads = threading.active_count()
    supervisor = WriteSupervisor(root, writes)
    assert await run(supervisor, root, "true") == 0
    supervisor.close()
    await until(lambda: threading.active_count() == threads)
    assert writes.paths == []


def test_a_log_is_complete_after_a_kill(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path;"
        "from manus.threads.snapshots.write_log import WriteLog;"
        "log = WriteLog(Path(sys.argv[1])); log.note('a'); log.note('b'); log.note('a');"
        "log.forget({k: v for k, v in log.settle().items() if k == 'a'}); log.note('c');"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "log"], check=False)
    log = WriteLog(tmp_path / "log")
    assert set(log.paths or ()) == {"b", "c"}
    assert [log.find_author(path) for path in "abc"] == ["outside", "unknown", "unknown"]
    log.forget(log.settle())
    assert not (tmp_path / "log").exists() or not (tmp_path / "log").read_bytes()
