"""Names of files in a workspace that configure programs outside the sandbox.

A user who opens the folder in an editor, a shell or git executes what these files configure. The
editor tool needs approval to write one, programs in a sandbox cannot change existing ones, and new
ones are moved to quarantine.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePosixPath

PRIVATE = ".manus"
"""The agent's own records in a workspace."""
_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".husky", ".githooks", ".devcontainer"),
        *(".vscode", ".idea", ".fleet", ".zed", ".claude", ".cursor", ".codex", ".gemini"),
        *(".ssh", ".gnupg", ".direnv", ".cargo"),
    }
)
_FILES = (
    *(".env", ".env.*", ".envrc", "manus.toml", ".mcp.json", ".pre-commit-config.yaml"),
    *(".gitconfig", ".gitmodules", ".npmrc", ".yarnrc*", ".pypirc", ".netrc"),
    *(".profile", ".bashrc", ".bash_*", ".zshrc", ".zshenv", ".zprofile", ".zlog*", ".inputrc"),
    *(".mise.toml", "mise.toml", "sitecustomize.py", "usercustomize.py"),
)
_PATHS = (".github/workflows/*", ".circleci/config.yml", ".gitlab-ci.yml")
_EXAMPLES = (".example", ".sample", ".template")


def is_protected(path: str) -> bool:
    """Return whether a path, relative to the workspace, is protected.

    The check is case-insensitive, like some file systems. Texts for agents (`AGENTS.md`) are not
    protected, since agents are asked to write them, and the diff shows them.
    """
    parts = PurePosixPath(path.lower()).parts
    if not parts:
        return False
    if not _FOLDERS.isdisjoint(parts):
        return True
    name = parts[-1]
    if name.endswith(_EXAMPLES):
        return False
    if any(fnmatchcase(name, pattern) for pattern in _FILES):
        return True
    return any(fnmatchcase("/".join(parts), pattern) for pattern in _PATHS)
