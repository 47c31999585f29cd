"""Whatever makes the user's next git command start a program is found; plain repositories pass."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from manus.execution.sandbox.repositories import find_dangers, is_harmless


@pytest.fixture
def git(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path / ".git"


def test_a_plain_repository(git: Path, tmp_path: Path) -> None:
    for words in (
        ["config", "user.email", "a@b.example"],
        ["config", "user.name", "Ana Ñandú 李"],
        ["remote", "add", "origin", "https://git.example/a/b.git"],
        ["config", "branch.main.remote", "origin"],
        ["config", "branch.main.merge", "refs/heads/main"],
    ):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", tmp_path, clone], check=True, capture_output=True)
    assert list(find_dangers(git)) == []
    assert list(find_dangers(clone / ".git")) == []


@pytest.mark.parametrize(
    "lines",
    [
        "[core]\n fsmonitor = id",
        "[core] fsmonitor = id",
        "[core]\n hooksPath = x",
        "[CORE]\n SSHCommand = id",
        "[core]\n pager = id",
        "[core]\n editor = id",
        "[core]\n worktree = /",
        "[alias]\n status = !id",
        "[include]\n path = ../x",
        '[includeIf "gitdir:/"]\n path = ../x',
        '[filter "x"]\n clean = id',
        '[diff "x"]\n command = id',
        '[merge "x"]\n driver = id',
        "[credential]\n helper = !id",
        "[gpg]\n program = id",
        '[remote "origin"]\n url = ext::id',
        '[remote "origin"]\n uploadpack = id',
        '[remote "origin"]\n url = -oProxyCommand=id',
        '[submodule "x"]\n update = !id',
        "[user]\n name = a\\\n[core]\n fsmonitor = id",
        "[user]\n name = a \\",
        "fsmonitor = id",
        "\udc80",
    ],
)
def test_a_configuration_that_may_start_a_program(git: Path, lines: str) -> None:
    (git / "config").write_bytes(lines.encode("utf-8", "surrogateescape"))
    assert not is_harmless(git / "config")
    assert list(find_dangers(git)) == [git / "config"]


@pytest.mark.parametrize(
    "name", ["hooks/pre-commit", "hooks/post-checkout", "commondir", "modules/a/hooks/post-update"]
)
def test_a_file_that_starts_a_program(git: Path, name: str) -> None:
    (git / name).parent.mkdir(parents=True, exist_ok=True)
    if name.startswith("modules"):
        (git / "modules" / "a" / "HEAD").write_text("ref: refs/heads/main\n")
    (git / name).write_text("id\n")
    assert list(find_dangers(git)) == [git / name]


def test_a_file_or_a_link_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("gitdir: elsewhere\n")
    (tmp_path / "b").symlink_to(tmp_path)
    assert list(find_dangers(tmp_path / "a")) == [tmp_path / "a"]
    assert list(find_dangers(tmp_path / "b")) == [tmp_path / "b"]
