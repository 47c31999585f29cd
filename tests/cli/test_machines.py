"""The program on machines that are set up differently from its developers' machines."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.child import ROOT

pytestmark = [pytest.mark.sandboxed, pytest.mark.exhaustive]

_MOUNT = 'mount --bind "$HOME" "$HOME" && mount -o remount,ro,bind "$HOME" && exec "$@"'


def play(folder: Path, *by: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Play the shortest demo in a new interpreter."""
    for name in ("home", "work", "tmp"):
        (folder / name).mkdir()
    own = {"HOME": str(folder / "home"), "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")}
    return subprocess.run(
        [*by, sys.executable, "-m", "manus", "demo", "calculator"],
        cwd=folder / "work",
        env={"PATH": os.environ["PATH"], **own, **environment},
        capture_output=True,
        text=True,
        errors="strict",
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("variables", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_a_demo_in_the_locale_c_with_temporary_files_elsewhere(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    result = play(tmp_path, **variables)
    assert result.returncode == 0, result.stderr
    assert str(tmp_path / "tmp") in result.stderr


def test_a_demo_with_a_home_that_is_read_only(tmp_path: Path) -> None:
    private = ("unshare", "--mount", "sh", "-c", _MOUNT, "sh")
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("only root can mount here")
    result = play(tmp_path, *private)
    assert result.returncode == 0, result.stderr
    assert "is read-only: threads and records are kept in" in result.stderr
    assert not list((tmp_path / "home").iterdir())
    [folder] = (tmp_path / "tmp").glob("manus-[0-9]*")
    assert (folder.stat().st_mode & 0o777, (folder / "data/threads.sqlite").exists()) == (
        0o700,
        True,
    )


def test_a_demo_without_git(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text("#!/bin/sh\nexit 127\n")
    (folder / "git").chmod(0o755)
    result = play(tmp_path, PATH=f"{folder}:{os.environ['PATH']}")
    assert result.returncode == 0, result.stderr
