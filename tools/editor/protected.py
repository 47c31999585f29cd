"""Names of files that configure other programs: a person is asked before one is written."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePosixPath

_ANYWHERE = frozenset(
    (
        *(".git", ".githooks", ".husky", ".ssh", ".vscode", ".idea", ".zed", ".devcontainer"),
        *(".cursor", ".claude", ".codex", ".gemini"),
    )
)
_FILES = (
    *(".env", ".env.*", ".envrc", "manus.toml", ".mcp.json", ".pre-commit-config.yaml"),
    *(".gitconfig", ".gitmodules", ".npmrc", ".pypirc", ".netrc"),
    *(".profile", ".bashrc", ".bash_*", ".zshrc", ".zshenv", ".zprofile", ".zlog*", ".inputrc"),
)
_EXAMPLES = (".example", ".sample", ".template")


def is_protected(path: str) -> bool:
    """Whether a path in the workspace is one of them: what a program reads that is started later.

    Texts for agents (`AGENTS.md`) are not: people have them written, and see them in the diff.
    """
    parts = PurePosixPath(path.lower()).parts
    if not _ANYWHERE.isdisjoint(parts):
        return True
    name = parts[-1] if parts else ""
    return not name.endswith(_EXAMPLES) and any(fnmatchcase(name, p) for p in _FILES)
