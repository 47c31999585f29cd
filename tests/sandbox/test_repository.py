"""The uncommitted changes of a repository, read without starting a program that it configures."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from manus.sandbox.environment.repository import describe_changes, find_repository

Git = Callable[..., str]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    run_git(folder, "init", "--quiet", "--initial-branch=main")
    for name in ("a.py", "b.py", "docs/c.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"{name}\n")
    run_git(folder, "add", ".")
    commit(folder)
    return folder


def run_git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


def commit(folder: Path) -> None:
    run_git(folder, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "A")


def changes_in(folder: Path) -> str:
    result = find_repository(folder)
    assert result is not None
    return describe_changes(result, folder)


def test_each_kind_of_change_is_named(repository: Path) -> None:
    assert changes_in(repository) == "none"
    (repository / "a.py").write_text("changed\n")
    (repository / "b.py").unlink()
    (repository / "new.txt").touch()
    (repository / "名前 1.txt").touch()
    (repository / "staged.py").touch()
    run_git(repository, "add", "staged.py")
    index = (repository / ".git/index").read_bytes()
    assert changes_in(repository) == (
        "modified a.py; deleted b.py; added staged.py; untracked new.txt, 1 more"
    )
    assert (repository / ".git/index").read_bytes() == index
    assert changes_in(repository / "docs") == "none"
    (repository / "docs" / "c.md").write_text("changed\n")
    assert "docs/c.md" in changes_in(repository / "docs")


def test_ignored_files_and_many_files(repository: Path) -> None:
    (repository / ".gitignore").write_text("*.log\n")
    (repository / ".git/info/exclude").write_text("private/\n")
    (repository / "private").mkdir()
    (repository / "private" / "key").touch()
    (repository / "x.log").touch()
    for number in range(2_000):
        (repository / f"{number:04}").touch()
    assert changes_in(repository) == (
        "untracked .gitignore, 0000, 0001, 0002, 0003, 0004, 1,995 more"
    )


def test_a_branch_without_a_commit_a_commit_without_a_branch_and_sha256(
    repository: Path, tmp_path: Path
) -> None:
    run_git(repository, "checkout", "--quiet", "--detach")
    assert changes_in(repository) == "none"
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    run_git(fresh, "init", "--quiet", "--object-format=sha256")
    (fresh / "a").touch()
    assert changes_in(fresh) == "untracked a"
    run_git(fresh, "add", "a")
    commit(fresh)
    assert changes_in(fresh) == "none"


def test_a_linked_worktree(repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    run_git(repository, "worktree", "add", "--quiet", str(linked))
    (linked / "a.py").write_text("changed\n")
    assert changes_in(linked) == "modified a.py"
    assert changes_in(repository) == "none"


def test_no_program_of_the_repository_is_started(repository: Path, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\ntouch "{marks}/$(basename "$0")-$1"\ncat\n')
    program.chmod(0o755)
    settings = {
        "core.fsmonitor": f"{program} fsmonitor",
        "filter.evil.clean": f"{program} clean",
        "filter.evil.process": f"{program} process",
        "diff.evil.textconv": f"{program} textconv",
        "core.sshCommand": f"{program} ssh",
        "core.pager": f"{program} pager",
        "include.path": str(tmp_path / "more"),
    }
    (tmp_path / "more").write_text(f'[filter "other"]\n\tclean = {program} included\n')
    for name, value in settings.items():
        run_git(repository, "config", name, value)
    (repository / ".gitattributes").write_text("*.py filter=evil diff=evil\n*.md filter=other\n")
    (repository / ".git/info/attributes").write_text("*.py filter=evil\n")
    hook = repository / ".git/hooks/post-index-change"
    hook.write_text(program.read_text())
    hook.chmod(0o755)
    # same size, so that only the content shows whether it has changed
    (repository / "a.py").write_text("A.py\n")
    assert "modified a.py" in changes_in(repository)
    assert list(marks.iterdir()) == []
    run_git(repository, "config", "--unset", "filter.evil.process")
    run_git(repository, "status")
    assert [path.name for path in marks.iterdir()] != [], "the attack works on a plain `git status`"


def test_a_planted_git_file_or_link_leads_to_no_other_repository(
    repository: Path, tmp_path: Path
) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / ".git").write_text(f"gitdir: {repository / '.git'}\n")
    assert changes_in(planted) == ""
    (planted / ".git").unlink()
    (planted / ".git").symlink_to(repository / ".git")
    assert changes_in(planted) == ""
    (planted / ".git").unlink()
    run_git(planted, "init", "--quiet")
    (planted / ".git/index").symlink_to(repository / ".git/index")
    assert changes_in(planted) == ""
    (planted / ".git/index").unlink()
    (planted / ".git/objects/info/alternates").write_text(f"{repository}/.git/objects\n")
    (planted / ".git/HEAD").write_text(run_git(repository, "rev-parse", "HEAD"))
    assert changes_in(planted) == ""


@pytest.mark.parametrize("damage", ["HEAD", "index", "config", "objects"])
def test_a_damaged_repository_is_not_mentioned(repository: Path, damage: str) -> None:
    path = repository / ".git" / damage
    if path.is_dir():
        path.rename(path.with_name("away"))
    else:
        path.write_bytes(b"\x00damaged")
    assert changes_in(repository) in ("", "none")


def test_a_status_that_takes_too_long_is_aborted(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:/usr/bin:/bin")
    assert changes_in(repository) == ""
