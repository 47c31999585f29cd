"""A file is written whole or not at all, and permissions are never widened."""

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from manus.config.files import write_atomically


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_keeps_its_mode_or_gets_the_specified_one(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o751)
    write_atomically(path, b"new")
    assert (path.read_bytes(), _mode(path)) == (b"new", 0o751)
    write_atomically(tmp_path / "private", b"x", 0o600)
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "usual", b"x")
    finally:
        os.umask(before)
    assert _mode(tmp_path / "private") == 0o600
    assert _mode(tmp_path / "usual") == 0o640, "as permitted by the umask"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="irectory"):
        write_atomically(tmp_path / "folder", b"x")
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["folder", "private", "secret", "usual"], "no partial file is left"


def test_private_files_are_never_readable_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks the mode at the moment when the content exists but the file is not yet in place."""
    path = tmp_path / "secret"
    path.touch(0o600)
    modes = []
    fchmod = os.fchmod

    def looking(descriptor: int, mode: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        fchmod(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", looking)
    write_atomically(path, b"new")
    assert modes == [0o600]


def test_a_link_stays_and_the_file_behind_it_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    file = tmp_path / "dotfiles" / "manus.toml"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to("dotfiles/manus.toml")
    write_atomically(link, b"new", 0o600)
    assert (link.readlink(), file.read_bytes()) == (Path("dotfiles/manus.toml"), b"new")
    assert _mode(file) == 0o640
    write_atomically(link, b"secret", 0o600, keep_mode=False)
    assert (file.read_bytes(), _mode(file)) == (b"secret", 0o600)
    link.unlink()
    link.symlink_to("dotfiles/new.toml")
    write_atomically(link, b"first")
    assert (tmp_path / "dotfiles" / "new.toml").read_bytes() == b"first"
    link.unlink()
    link.symlink_to("link")
    with pytest.raises(OSError, match="symbolic links"):
        write_atomically(link, b"x")
    assert link.is_symlink()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    data, pipe = os.urandom(200_000), tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write_atomically, args=(pipe, data), daemon=True)
    writer.start()
    assert pipe.read_bytes() == data
    writer.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.fixture
def null(tmp_path: Path) -> Iterator[Path]:
    """Create a device that works like `/dev/null`."""
    path = tmp_path / "null"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.write_bytes(b"x")
    except PermissionError:
        pytest.skip("only root can make a device, and not on every file system")
    yield path
    path.unlink()


def test_a_device_is_written_to(null: Path) -> None:
    before = null.stat()
    write_atomically(null, b"x", 0o600, keep_mode=False)
    after = null.stat()
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)


_TO_STDOUT = """\
import pathlib, sys
from manus.config.files import write_atomically
write_atomically(pathlib.Path(sys.argv[1]), b"page")
"""


@pytest.mark.parametrize("name", ["stdout", "link", "/dev/fd/1", "/proc/self/fd/1"])
def test_stdout_opened_by_name_is_appended_to(tmp_path: Path, name: str) -> None:
    """`stdout` stands for `/dev/stdout`, which a failing test must not replace."""
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    (tmp_path / "link").symlink_to("stdout")
    redirected = tmp_path / "out"
    with redirected.open("wb", buffering=0) as out:
        out.write(b"head ")
        _write_in_a_process(tmp_path, name, out.fileno())
    assert redirected.read_bytes() == b"head page"
    assert _write_in_a_process(tmp_path, name, subprocess.PIPE) == b"page"


def _write_in_a_process(folder: Path, name: str, out: int) -> bytes | None:
    command = [sys.executable, "-c", _TO_STDOUT, name]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.run(command, stdout=out, cwd=folder, env=environment, check=True)
    return process.stdout
