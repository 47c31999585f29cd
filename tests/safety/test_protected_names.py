"""Which names are protected, and that new ones are found wherever a program creates them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from manus.execution.protected_names import is_protected
from manus.execution.sandbox.quarantine import ProtectedNames, quarantine_names

PROTECTED = (
    *(".env", "app/.env.production", ".envrc", ".git/hooks/pre-commit.sample", "sub/.git"),
    *(".VSCode/tasks.json", "manus.toml", ".bashrc", ".github/workflows/ci.yml", ".mcp.json"),
    *(".idea/workspace.xml", ".claude/settings.json", ".husky/pre-commit", ".npmrc"),
    *(".pre-commit-config.yaml", "a/b/.zshrc", "sitecustomize.py", ".gitlab-ci.yml"),
)
NOT_PROTECTED = (
    *(".env.example", "environment.py", "README.md", "AGENTS.md", ".gitignore", ".github/x.md"),
    *("", "git", "settings.json"),
)


@pytest.mark.parametrize("path", PROTECTED)
def test_a_protected_name(path: str) -> None:
    assert is_protected(path)


@pytest.mark.parametrize("path", NOT_PROTECTED)
def test_a_name_that_is_not_protected(path: str) -> None:
    assert not is_protected(path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "a.py").write_text("")
    (root / ".env").write_text("")
    (root / "node_modules" / "x").mkdir(parents=True)
    (root / "node_modules" / "x" / ".npmrc").write_text("")
    return root


def test_new_names_are_found_at_any_depth(root: Path) -> None:
    names = ProtectedNames(root)
    assert names.find() == {".env"}
    (root / "src" / "deep" / ".vscode").mkdir()
    (root / "src" / "deep" / ".vscode" / "tasks.json").write_text("")
    (root / "other" / ".git").mkdir(parents=True)
    assert names.find() == {".env", "src/deep/.vscode", "other/.git"}
    shutil.rmtree(root / "other")
    (root / ".env").rename(root / "environment")
    assert names.find() == {"src/deep/.vscode"}


def test_a_reset_timestamp_hides_nothing(root: Path) -> None:
    names = ProtectedNames(root)
    before = (root / "src").stat()
    names.find()
    (root / "src" / ".envrc").write_text("")
    os.utime(root / "src", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "src/.envrc" in names.find()


def test_each_of_many_quick_changes_is_found(root: Path, subtests: pytest.Subtests) -> None:
    names = ProtectedNames(root)
    for number in range(200):
        with subtests.test(number=number):
            path = root / "src" / f".env.{number}"
            path.write_text("")
            assert f"src/.env.{number}" in names.find(), number


def test_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / ".envrc").write_text("")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / ".envrc").symlink_to("nowhere")
    assert ProtectedNames(root).find() == {".env", ".envrc"}


def test_quarantined_files_are_kept(root: Path, tmp_path: Path) -> None:
    (root / "src" / ".vscode").mkdir()
    (root / "src" / ".vscode" / "tasks.json").write_text("{}")
    moved = quarantine_names(root, ["src/.vscode", "gone/.env"], tmp_path / "quarantine")
    assert list(moved) == ["src/.vscode"]
    assert (moved["src/.vscode"] / "tasks.json").read_text() == "{}"
    assert not (root / "src" / ".vscode").exists()
