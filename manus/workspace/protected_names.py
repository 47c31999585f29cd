"""Files in a workspace that programs outside the sandbox start by themselves.

A user who opens the folder in an editor, a shell or an agent, or who calls git or a package
manager, executes what these files configure. The editor tool needs approval to write one of the
patterns; what programs in a sandbox write to one of either kind is looked at.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate

PRIVATE = ".manus"
"""The agent's own records in a workspace."""
_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".husky", ".githooks"),  # hooks and settings of version control
        *(".vscode", ".idea", ".fleet", ".zed", ".devcontainer"),  # tasks and settings of editors
        *(".claude", ".cursor", ".codex", ".gemini"),  # hooks and servers of other agents
        *(".ssh", ".gnupg", ".direnv", ".cargo"),  # programs of ssh, gpg, shells and compilers
    }
)
_FILES = (
    *(".env", ".env.*", ".envrc", ".mise.toml", "mise.toml"),  # loaded by shells on `cd`
    *(".profile", ".bashrc", ".bash_*", ".zshrc", ".zshenv", ".zprofile", ".zlog*", ".inputrc"),
    *("manus.toml", ".mcp.json"),  # settings of agents
    *(".pre-commit-config.yaml", "lefthook.y*ml", ".gitconfig", ".gitmodules"),  # of git
    *(".npmrc", ".yarnrc*", ".pnpmfile.*", ".pypirc", ".netrc", "bunfig.toml"),  # of packages
    *(".exrc", ".nvimrc", ".vimrc", ".dir-locals.el", "*.code-workspace"),  # of editors
    *("sitecustomize.py", "usercustomize.py"),  # imported by every Python
)
_PATHS = (".github/workflows/*", ".circleci/config.yml", ".gitlab-ci.yml")
_EXAMPLES = (".example", ".sample", ".template")
_INERT = (
    *(".gitignore", ".gitattributes", ".gitmodules", ".gitkeep", ".keep", ".mailmap"),
    *(".git-blame-ignore-revs", ".dockerignore", ".prettierignore", ".eslintignore", ".npmignore"),
    *(".editorconfig", ".nojekyll", ".DS_Store", ".python-version", ".nvmrc", ".node-version"),
    *(".ruby-version", ".tool-versions", ".coverage", ".coverage.*", ".*cache", ".*history"),
    *(
        ".venv",
        ".tox",
        ".nox",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".nyc_output",
        ".next",
        ".nuxt",
    ),
    *(".turbo", ".svelte-kit", ".gradle", ".terraform", ".sass-cache", ".pnpm-store", ".npm"),
    *(".fuse_hidden*", ".nfs*", ".~lock*", ".*.sw?", PRIVATE),
)
"""Names that begin with a dot and start nothing: caches, lists of files, versions."""


def _join(patterns: Iterable[str]) -> re.Pattern[str]:
    """Compile patterns to one, since each file of a workspace is compared."""
    return re.compile("|".join(map(translate, patterns)))


_FILE = _join(_FILES)
_PATH = _join(_PATHS)
_INERT_NAME = _join(map(str.lower, _INERT))


def is_protected(path: str) -> bool:
    """Return whether a path, relative to the workspace, matches one of the patterns.

    The check is case-insensitive, like some file systems. Texts for agents (`AGENTS.md`) are not
    protected, since agents are asked to write them, and the diff shows them.
    """
    # each file of a workspace is compared: a `Path` would take most of the time of a look
    parts = path.lower().split("/")
    if "" in parts or "." in parts:
        parts = [part for part in parts if part not in ("", ".")] or [""]
    if not _FOLDERS.isdisjoint(parts):
        return True
    name = parts[-1]
    if name.endswith(_EXAMPLES):
        return False
    return bool(_FILE.match(name) or _PATH.match("/".join(parts)))


def starts_by_itself(path: str, folders: frozenset[str]) -> bool:
    """Return whether a file may be started by another program that the user runs.

    It matches a pattern, or it is, or is in, an entry that begins with a dot and is not inert, in
    one of `folders`: the workspace's root (empty), and the folders above a git directory.
    """
    folder, _, name = path.rpartition("/")
    if _starts_as_a_whole(folder, folders):
        return True
    name = name.lower()
    if name[:1] == "." and folder in folders and not _is_inert(name):
        return True
    if name == ".gitmodules" or name.endswith(_EXAMPLES):
        return False
    return name in _FOLDERS or _FILE.match(name) is not None


@functools.lru_cache(10_000)
def _starts_as_a_whole(folder: str, folders: frozenset[str]) -> bool:
    """Return whether each file below a folder may be started."""
    entries = _iterate_dot_entries(folder)
    is_dot_entry = any(top in folders and not _is_inert(name.lower()) for top, name in entries)
    return is_dot_entry or not _FOLDERS.isdisjoint(folder.lower().split("/"))


def _iterate_dot_entries(path: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a path that begin with a dot, each with the folder that it is in."""
    if not path.startswith(".") and "/." not in path:
        return
    parts = path.split("/")
    for index, name in enumerate(parts):
        if name.startswith("."):
            yield "/".join(parts[:index]), name


def _is_inert(name: str) -> bool:
    return name.endswith(_EXAMPLES) or bool(_INERT_NAME.match(name))
