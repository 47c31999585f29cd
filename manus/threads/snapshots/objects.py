"""Store snapshots as commits of a git repository of our own, outside the workspace.

Each thread has a ref; its commits form a chain, and the first line of a commit's message states who
made its changes. The files are passed to `git fast-import` as bytes, so git does not read the
workspace, and applies no filters, attributes or configuration of the user's repositories.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

from manus.sandbox.host_programs import find_host_program
from manus.state.errors import StorageError
from manus.workspace.tree import Entry, Tree, apply_manifest, blob_id

Author = Literal["agent", "outside", "unknown", "rewind"]
"""The author of a snapshot's changes: calls of the thread; anyone else; after an interruption,
either of the two; a rewind."""

_FILES = "files/"
_MANIFEST = "manifest"
_LINK = "120000"
_PROGRAM = "100755"
_SETTINGS = (
    *("-c", "core.fsync=none", "-c", "gc.autoDetach=false", "-c", "core.quotePath=false"),
    *("-c", "core.compression=1"),  # 30 MB take a second by default
)
"""Like the journal, a snapshot survives a killed process, but not a power failure."""
_LITTLE_ROOM = 2**20
"""Free bytes below which a failure is attributed to a full disk."""
_BATCH = 100
"""Maximum number of objects in memory at the same time."""
_HEADER_WORDS = 3
"""Number of words in the header of an object: its id, type and size."""
_FORMAT = "%H%x00%P%x00%ct%x00%s"


class Snapshot(NamedTuple):
    """One commit of a thread's chain."""

    id: str
    parent: str
    time: int
    """Seconds since the epoch."""
    author: Author
    label: str
    """A short text about the changes."""


class SnapshotStore:
    """The snapshots of one workspace. All methods are blocking.

    They raise `StorageError` if git fails.
    """

    def __init__(self, folder: Path, git: str) -> None:
        self.folder = folder
        self._git = git

    @classmethod
    def open(cls, folder: Path) -> SnapshotStore | None:
        """Open the store in a folder, and create it if it is missing; None without git."""
        git = find_host_program("git")
        if git is None:
            return None
        store = cls(folder, git)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # `git init` writes HEAD first: another thread's, or one that was killed, may be incomplete
        with _exclusive(folder):
            if not all((folder / name).exists() for name in ("HEAD", "config", "objects", "refs")):
                store._run("init", "--quiet", "--bare", "--template=", "--shared=0600", str(folder))
        return store

    def commit(
        self,
        ref: str,
        parent: str,
        author: Author,
        label: str,
        tree: Tree,
        contents: Iterable[tuple[str, Entry | None, bytes]],
    ) -> str:
        """Store the parent's tree with changes; return the id of the snapshot.

        Args:
            ref: the name of the thread's ref.
            parent: the previous snapshot of the thread; empty for the first one.
            author: the author of the changes.
            label: a short text about them.
            tree: the new tree, for its manifest.
            contents: the changed paths with entry and content; removed paths, with None, first.
        """
        header = (
            f"commit refs/threads/{ref}\nmark :1\ncommitter manus <> {int(time.time())} +0000\n"
        )
        message = _data(f"{author} {label}".encode("utf-8", "replace"))

        def commands() -> Iterator[bytes]:
            yield header.encode() + message
            if parent:
                yield f"from {parent}\n".encode()
            for path, entry, content in contents:
                name = _quote(_FILES + path)
                if entry is None:
                    yield b"D %s\n" % name
                else:
                    yield b"M %s inline %s\n" % (_git_mode(entry), name) + _data(content)
            # last, because reading the contents may add skipped files
            yield b"M 100644 inline %s\n" % _MANIFEST.encode() + _data(tree.manifest())
            yield b"get-mark :1\ndone\n"

        return self._import(commands())

    def _import(self, commands: Iterable[bytes]) -> str:
        """Run `git fast-import`; return what it prints."""
        process = subprocess.Popen(
            [self._git, *_SETTINGS, "fast-import", "--quiet", "--done", "--force"],
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        try:
            for command in commands:
                process.stdin.write(command)
        except BrokenPipeError:
            pass  # git has exited and reported why
        except BaseException:
            process.kill()
            process.communicate()
            raise
        output, errors = process.communicate()
        if process.returncode or not output:
            raise self._failed(errors)
        return output.decode().strip()

    def read_tree(self, snapshot: str) -> Tree:
        """Return the tree of a snapshot."""
        listing = self._run("ls-tree", "-r", "-z", "--full-tree", snapshot)
        entries = {}
        manifest = ""
        for line in listing.split(b"\0"):
            facts, _, name = line.partition(b"\t")
            if not name:
                continue
            mode, _, identifier = facts.decode().split(" ")
            path = os.fsdecode(name)
            if path == _MANIFEST:
                manifest = identifier
            else:
                entries[path.removeprefix(_FILES)] = _read_entry(mode, identifier)
        content = dict(self.read_objects([manifest])).get(manifest)
        if content is None:
            raise self._failed(b"the manifest is missing")
        return apply_manifest(entries, content)

    def read_objects(self, identifiers: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the contents of objects, except those that are missing or damaged."""
        for batch in _batches(sorted(set(identifiers))):
            output = self._start("cat-file", "--batch", stdin="\n".join(batch).encode()).stdout
            position = 0
            while position < len(output):
                header, _, _ = output[position : position + 200].partition(b"\n")
                position += len(header) + 1
                words = header.decode().split(" ")
                if len(words) != _HEADER_WORDS:  # "… missing"
                    continue
                size = int(words[2])
                content = output[position : position + size]
                position += size + 1
                if blob_id(content) == words[0]:
                    yield words[0], content

    def find_missing(self, identifiers: Iterable[str]) -> set[str]:
        """Return the objects, out of these, that the store does not have."""
        wanted = "\n".join(sorted(set(identifiers)))
        output = self._start("cat-file", "--batch-check", stdin=wanted.encode()).stdout.decode()
        return {line.removesuffix(" missing") for line in output.splitlines() if "missing" in line}

    def exists(self, snapshot: str) -> bool:
        """Return whether a snapshot is in this store."""
        return self._start("cat-file", "-e", f"{snapshot}^{{commit}}").returncode == 0

    def head(self, ref: str) -> str:
        """Return the newest snapshot of a thread; empty if there is none."""
        process = self._start("rev-parse", "--verify", "--quiet", f"refs/threads/{ref}")
        return process.stdout.decode().strip()

    def set_head(self, ref: str, snapshot: str) -> None:
        """Make a snapshot the newest of a thread; an empty id removes the thread's ref."""
        name = f"refs/threads/{ref}"
        if snapshot:
            self._run("update-ref", name, snapshot)
        else:
            self._run("update-ref", "-d", name)

    def squash(self, ref: str) -> str:
        """Make a thread's newest snapshot its only one; return its new id."""
        head = self.head(ref)
        if len(self.chain("", head)) == 1:
            return head
        tree = self._run("rev-parse", f"{head}^{{tree}}").decode().strip()
        identity = ("-c", "user.name=manus", "-c", "user.email=manus@localhost")
        output = self._run(*identity, "commit-tree", tree, "-m", "outside compacted")
        snapshot = output.decode().strip()
        self.set_head(ref, snapshot)
        return snapshot

    def chain(self, start: str, end: str) -> list[Snapshot]:
        """Return the snapshots after `start` up to `end`, the oldest first.

        An empty `start` means the beginning.
        """
        selected = [end, f"^{start}"] if start else [end]
        output = self._run("log", "-z", "--reverse", f"--format={_FORMAT}", *selected)
        fields = output.decode("utf-8", "replace").removesuffix("\0").split("\0")
        snapshots = []
        for position in range(0, len(fields) - 3, 4):
            identifier, parent, seconds, subject = fields[position : position + 4]
            author, _, label = subject.partition(" ")
            snapshots.append(
                Snapshot(identifier, parent, int(seconds), _read_author(author), label)
            )
        return snapshots

    def collect_garbage(self, *, everything: bool = False) -> None:
        """Pack objects if there are many; with `everything`, remove what no thread uses."""
        arguments = ("--prune=now",) if everything else ("--auto",)
        self._run("gc", "--quiet", *arguments)

    def size(self) -> int:
        """Return the size in bytes."""
        total = 0
        for folder, _, files in os.walk(self.folder):
            total += sum(os.lstat(f"{folder}/{name}").st_size for name in files)
        return total

    def _run(self, *arguments: str) -> bytes:
        process = self._start(*arguments)
        if process.returncode:
            raise self._failed(process.stderr)
        return process.stdout

    def _start(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [self._git, *_SETTINGS, *arguments]
        return subprocess.run(
            command, env=self._environment(), capture_output=True, input=stdin, check=False
        )

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.defpath,
            "GIT_DIR": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HOME": str(self.folder),
            "LC_ALL": "C",
        }

    def _failed(self, errors: bytes) -> StorageError:
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1] if lines else "git exited without an error message"
        with contextlib.suppress(OSError):
            if shutil.disk_usage(self.folder).free < _LITTLE_ROOM:
                reason = "the disk is full"  # git reports a damaged repository
        return StorageError(f"The snapshots in {self.folder} cannot be used ({reason}).")


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """Hold a lock of a folder against other threads and processes."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # released when the folder is closed
        yield
    finally:
        os.close(descriptor)


def _batches(identifiers: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(identifiers), _BATCH):
        yield identifiers[start : start + _BATCH]


def make_ref(thread_id: str) -> str:
    """Return the name of a thread's ref."""
    return hashlib.sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _read_author(author: str) -> Author:
    return cast(Author, author) if author in get_args(Author) else "outside"


def _read_entry(mode: str, identifier: str) -> Entry:
    if mode == _LINK:
        return Entry("link", 0, identifier)
    return Entry("file", 0o755 if mode == _PROGRAM else 0o644, identifier)


def _git_mode(entry: Entry) -> bytes:
    if entry.kind == "link":
        return _LINK.encode()
    return _PROGRAM.encode() if entry.mode & 0o100 else b"100644"


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"


def _quote(path: str) -> bytes:
    escaped = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return b'"' + escaped.replace(b"\n", b"\\n") + b'"'
