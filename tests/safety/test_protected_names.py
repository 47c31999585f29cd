"""Which names are protected, and which files are looked at."""

from __future__ import annotations

import pytest

from manus.workspace.protected_names import is_protected, starts_by_itself

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


STARTED = (
    *((path, "") for path in (".eslintrc.js", ".github/x.md", ".new/a/b", ".lldbinit", ".envrc")),
    *((path, "a/b") for path in ("a/b/.flake8", "sub/.envrc", "deep/er/.vscode/tasks.json")),
)
NOT_STARTED = (
    *((path, "") for path in (".gitignore", ".venv/bin/x", ".ruff_cache/a", "a.py", "sub/.flake8")),
    *((path, "a") for path in (".gitmodules", ".env.example", ".manus/x", ".coverage.host.1")),
)


@pytest.mark.parametrize(("path", "folder"), STARTED)
def test_a_file_that_starts_by_itself(path: str, folder: str) -> None:
    assert starts_by_itself(path, frozenset({"", folder}))


@pytest.mark.parametrize(("path", "folder"), NOT_STARTED)
def test_a_file_that_does_not(path: str, folder: str) -> None:
    assert not starts_by_itself(path, frozenset({"", folder}))
