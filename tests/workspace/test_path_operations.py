"""No code of manus changes a path that a program of the sandbox could lead elsewhere.

A program can replace any folder of the workspace by a link at any time, so that an operation by
path would change another file of the user. `safe_open` opens folder by folder, by descriptor.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.helpers.child import ROOT

CHANGING = frozenset(
    {
        *("mkdir", "makedirs", "rmdir", "removedirs", "rmtree", "unlink", "rename", "renames"),
        *("touch", "chmod", "chown", "symlink", "symlink_to", "hardlink_to", "link", "mknod"),
        *("mkfifo", "utime", "truncate", "write_text", "write_bytes", "copytree", "extractall"),
        *("setxattr", "make_archive", "unpack_archive"),
    }
)
BY_NAME = frozenset({("os", "replace"), ("os", "remove")}) | {
    ("shutil", name) for name in ("copy", "copy2", "copyfile", "copymode", "copystat", "move")
}
BY_DESCRIPTOR = frozenset({"dir_fd", "src_dir_fd", "dst_dir_fd", "closefd"})
"""Arguments with which a call does not look up a whole path."""
OUTSIDE = {
    "config/files.py": "writes by descriptor, or in the folders of the user's settings and data",
    "workspace/safe_open.py": "the module of descriptors",
    "workspace/workspace.py": "creates the workspace before a program has started, and records",
    "sandbox/bubblewrap.py": "the run's own folder, before a program has started",
    "sandbox/home.py": "the run's own folder, which no other program can replace",
    "sandbox/sandbox.py": "the run's own folder, before a program has started",
    "sandbox/environment/links.py": "the run's own folder, before a program has started",
    "sandbox/look.py": "marks in the records",
    "sandbox/git_config.py": "a copy in a temporary folder",
    "sandbox/git_settings.py": "the run's own folder, before a program has started",
    "threads/records/files.py": "records",
    "threads/journal.py": "records",
    "threads/thread_lock.py": "records",
    "threads/sqlite.py": "the store",
    "threads/deletion.py": "records",
    "threads/snapshots/objects.py": "records",
    "runs/time_travel.py": "records, and a new folder in which no program has run",
    "runs/maintenance.py": "records",
    "runs/export.py": "the file that the user names",
    "runs/imports.py": "a new folder in which no program has run",
    "sandbox/porter.py": "files of `/proc`",
}
"""Modules that change only what no program of a sandbox can write, and why."""


def is_change(node: ast.Call) -> bool:
    """Return whether a call changes a path, rather than an entry of an open folder."""
    if not BY_DESCRIPTOR.isdisjoint(keyword.arg or "" for keyword in node.keywords):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        name = function.attr
        owner = function.value.id if isinstance(function.value, ast.Name) else ""
        if name == "replace" and owner != "os":  # texts and dates have it, too
            return len(node.args) == 1 and not node.keywords
        if name == "rename" and any(keyword.arg == "columns" for keyword in node.keywords):
            return False
        if name == "open":
            first = node.args[1 if owner in ("os", "io") else 0 :][:1]
            return writes(first) and owner != "archive"
        return name in CHANGING or (owner, name) in BY_NAME
    return isinstance(function, ast.Name) and function.id == "open" and writes(node.args[1:2])


def writes(arguments: list[ast.expr]) -> bool:
    """Return whether the mode or the flags of an opened file allow writing."""
    text = " ".join(map(ast.unparse, arguments))
    is_mode = bool(arguments) and isinstance(arguments[0], ast.Constant)
    return any(mark in text for mark in ("wax+" if is_mode else ("O_WRONLY", "O_RDWR")))


def find_changes(text: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and is_change(node):
            yield node.lineno


def test_no_other_module_changes_paths() -> None:
    found = {}
    for path in sorted((ROOT / "manus").rglob("*.py")):
        name = path.relative_to(ROOT / "manus").as_posix()
        if not name.startswith("cli/") and name not in OUTSIDE:  # commands act for the user
            found[name] = list(find_changes(path.read_text()))
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("name", OUTSIDE)
def test_each_exception_is_needed(name: str) -> None:
    assert list(find_changes((ROOT / "manus" / name).read_text()))


@pytest.mark.parametrize(
    "text",
    [
        *("os.rename(a, b)", "Path(a).mkdir()", "shutil.rmtree(a)", "a.replace(b)", "open(a, 'w')"),
        *("a.open('a')", "os.open(a, os.O_RDWR)", "a.write_text('x')", "shutil.copy(a, b)"),
    ],
)
def test_it_is_detected(text: str) -> None:
    assert list(find_changes(text))
    assert not list(
        find_changes("os.unlink(a, dir_fd=at); a.replace('x', 'y'); open(a); {}.copy()")
    )
