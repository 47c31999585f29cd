"""Names in a workspace that configure programs which run outside of the sandbox.

Whoever opens the folder in an editor, a shell or git runs what these files say. The editor asks
before it writes one, programs in a sandbox cannot change those that exist, and new ones that a
program makes are moved into quarantine.
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

    Letter case does not matter, since it does not on some file systems. Texts for agents
    (`AGENTS.md`) are not protected: people have them written, and see them in the diff.
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
