"""A file is written whole or not at all, and nobody reads it who could not before."""

import os
import stat
from pathlib import Path

import pytest

from manus.state.files import write_atomically


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_keeps_its_mode_or_has_the_one_given(tmp_path: Path) -> None:
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
    assert _mode(tmp_path / "usual") == 0o640, "what the umask leaves"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="irectory"):
        write_atomically(tmp_path / "folder", b"x")
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["folder", "private", "secret", "usual"], "no piece of a file is left"


def test_what_is_private_is_never_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen at the moment when the content is there and the file is not yet in its place."""
    path = tmp_path / "secret"
    path.touch(0o600)
    met = []
    fchmod = os.fchmod

    def looking(descriptor: int, mode: int) -> None:
        met.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        fchmod(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", looking)
    write_atomically(path, b"new")
    assert met == [0o600]
