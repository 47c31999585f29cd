"""Execute git commands that change a repository whose `.git` is read-only for programs.

A wrapper, first on the `PATH` in the sandbox, forwards each command in its own folder: a file with
the request, and two FIFOs, one that the wrapper keeps open while it runs and one for the exit code.
The folder is untrusted input: its files are opened without following links, and the request is
validated. Git itself runs in a second sandbox, with a configuration that starts no hooks. There
`.git` is writable; afterwards, changes that could start a program are reverted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from manus.execution.sandbox.confined import Confined
from manus.execution.sandbox.git_arguments import FORWARDED, GitCommand, judge, parse_command
from manus.execution.sandbox.git_history import GitHistory
from manus.execution.sandbox.limits import Limits
from manus.execution.sandbox.name_guard import NameGuard

SPOOL = "git-requests"
"""The folder of the requests in the programs' `/tmp`."""
QUEUE = "queue"
_MAX_BYTES = 4_000_000
_MAX_REQUESTS = 32
"""Maximum number of concurrent requests; more indicate a bug, or an attack on descriptors."""
_SECONDS = 1800.0
"""Timeout of a command, such as a fetch."""
_PASSED = (
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME"),
    *("GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"),
    *("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_MERGE_AUTOEDIT", "GIT_REFLOG_ACTION"),
)
_EDITORS = ("GIT_EDITOR", "GIT_SEQUENCE_EDITOR")
_NO_EDITORS = frozenset({"", ":", "true", "/bin/true", "/usr/bin/true", "cat"})
_OPEN_EDITORS = frozenset({"commit", "rebase", "merge", "tag", "revert", "cherry-pick", "am"})
_NO_SSH = "echo 'ssh has no keys in the sandbox: fetch and push in your own terminal' >&2; false"
_FIXED = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "core.editor=true"),
    *("sequence.editor=true", f"core.sshCommand={_NO_SSH}", "core.askPass=", "credential.helper="),
    *("protocol.ext.allow=never", "commit.gpgSign=false", "tag.gpgSign=false"),
    *("push.gpgSign=false", "gc.auto=0", "maintenance.auto=false", "submodule.fetchJobs=1"),
)
FIXED_CONFIGURATION = tuple(word for setting in _FIXED for word in ("-c", setting))
_REFUSED = "git: not executed: {reason}; if it is needed, the user can run it in their own terminal"
_EDITOR = "no editor (`{name}`) is started; pass the message with `-m`, or use `--no-edit`"
_OUTSIDE = "the folder is not in the workspace"
_WORKTREE_OUTSIDE = "a worktree outside the workspace is not accessible; choose a folder in it"
_HOOKS = "git: hooks were not run ({names}); the user can run them in their own terminal"
_HOOKS_OF = {
    "am": ("applypatch-msg", "pre-applypatch", "post-applypatch"),
    "checkout": ("post-checkout",),
    "commit": ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    "merge": ("pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"),
    "push": ("pre-push",),
    "rebase": ("pre-rebase", "post-rewrite"),
    "switch": ("post-checkout",),
}


class Confine(Protocol):
    """A function that confines a git command to the second sandbox. Blocking."""

    def __call__(self, argv: Sequence[str], directory: Path) -> Confined:
        """Return the command line and environment of a command in a directory."""


class GitRequest(NamedTuple):
    """A git command that a program has forwarded."""

    directory: Path
    variables: Mapping[str, str]
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Exchange:
    """The open files of one request."""

    request: GitRequest
    input: int
    out: int
    err: int
    alive: int
    answer: int


class GitService:
    """The service that executes git commands of one run's programs."""

    def __init__(
        self,
        workspace: Path,
        folder: Path,
        *,
        history: GitHistory,
        confine: Confine,
        limits: Limits,
    ) -> None:
        """`folder` contains the folders for `/etc` and `/tmp` of the programs."""
        self._workspace = workspace
        self._spool = folder / "tmp" / SPOOL
        self._confine = confine
        self._limits = limits
        self._history = history
        self._names = NameGuard(workspace, restores=True, accepts=history.holds)
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pending = b""
        self.hold: Callable[[], str] = lambda: ""
        """Returns why repositories must not be changed now; empty if they may."""
        self.guards_repository = bool(history.repositories)
        """Whether a repository existed at the start, so that it is not the run's own."""
        queue = folder / "etc" / "manus" / QUEUE
        os.mkfifo(queue, 0o600)
        # opened for reading and writing, so that it never reaches the end of the file
        self._queue = os.open(queue, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def start(self) -> None:
        """Start receiving commands."""
        asyncio.get_running_loop().add_reader(self._queue, self._receive)

    def _receive(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._pending += os.read(self._queue, 65_536)
        *names, self._pending = self._pending.split(b"\n")
        for name in names:
            if len(self._tasks) >= _MAX_REQUESTS or not _is_name(name):
                continue
            task = asyncio.create_task(self._serve(name.decode()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop all running commands."""
        asyncio.get_running_loop().remove_reader(self._queue)
        os.close(self._queue)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, name: str) -> None:
        with contextlib.suppress(OSError, ValueError), _open(self._spool / name) as exchange:
            loop = asyncio.get_running_loop()
            is_gone = asyncio.Event()
            loop.add_reader(exchange.alive, is_gone.set)
            try:
                code = await self._answer(exchange, is_gone)
                os.write(exchange.answer, f"{code}\n".encode())
                async with asyncio.timeout(_SECONDS):
                    await is_gone.wait()  # closing a FIFO discards its content
            except TimeoutError:
                pass
            finally:
                loop.remove_reader(exchange.alive)

    async def _answer(self, exchange: _Exchange, is_gone: asyncio.Event) -> str:
        """Execute or refuse a command; return its exit code, or `here` to run it in the sandbox."""
        request = exchange.request
        judgement = judge(request.arguments)
        if judgement.kind == "read":
            return "here"
        reason = judgement.reason or await asyncio.to_thread(self._find_objection, request)
        if not reason and self.guards_repository:
            reason = self.hold()
        if reason:
            _write_message(exchange.err, _REFUSED.format(reason=reason))
            return "128"
        async with self._turn:
            await self._names.begin()
            code = await self._run(exchange, is_gone)
            if note := await self._names.finish():
                _write_message(exchange.err, note.strip())
        if hooks := await asyncio.to_thread(self._find_omitted_hooks, request):
            _write_message(exchange.err, _HOOKS.format(names=", ".join(hooks)))
        return str(code)

    def _find_omitted_hooks(self, request: GitRequest) -> list[str]:
        """Return the names of the hooks that git would normally have started. Blocking."""
        names = _HOOKS_OF.get(parse_command(request.arguments).name, ())
        repository = self._history.find_nearest_repository(request.directory)
        if not names or repository is None:
            return []
        folders = [folder / "hooks" for folder in repository.directories]
        folders += filter(Path.is_dir, repository.named_files)
        paths = ((name, folder / name) for name in names for folder in folders)
        executable = [name for name, path in paths if path.is_file() and os.access(path, os.X_OK)]
        return list(dict.fromkeys(executable))

    def _find_objection(self, request: GitRequest) -> str:
        """Return why a command is not executed; empty if it may be. Blocking."""
        if not Path(os.path.realpath(request.directory)).is_relative_to(self._workspace):
            return _OUTSIDE
        command = parse_command(request.arguments)
        if command.name == "worktree" and not self._stays_inside(request, command):
            return _WORKTREE_OUTSIDE
        for name in _EDITORS:
            editor = request.variables.get(name, "").strip()
            if (
                command.name in _OPEN_EDITORS
                and editor not in _NO_EDITORS
                and _opens_editor(command)
            ):
                return _EDITOR.format(name=name)
        return ""

    def _stays_inside(self, request: GitRequest, command: GitCommand) -> bool:
        """Return whether all arguments that may be paths are in the workspace. Blocking."""
        base = request.directory
        for name, value in command.options:
            if name == "-C":
                base = base / (value or "")
        paths = (base / word for word in command.arguments if not word.startswith("-"))
        return all(Path(os.path.realpath(path)).is_relative_to(self._workspace) for path in paths)

    async def _run(self, exchange: _Exchange, is_gone: asyncio.Event) -> int:
        request = exchange.request
        argv = ("git", *FIXED_CONFIGURATION, *request.arguments)
        confined = await asyncio.to_thread(self._confine, argv, request.directory)
        variables = {k: v for k, v in request.variables.items() if k not in _EDITORS}
        process = await asyncio.create_subprocess_exec(
            *confined.argv,
            cwd=self._workspace,
            env={**confined.environment, **variables},
            stdin=exchange.input,
            stdout=exchange.out,
            stderr=exchange.err,
            start_new_session=True,
        )
        leaving = asyncio.ensure_future(is_gone.wait())
        ending = asyncio.ensure_future(process.wait())
        try:
            async with self._limits.watch(process.pid):
                await asyncio.wait(
                    (leaving, ending), timeout=_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
        finally:
            leaving.cancel()
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            code = await asyncio.shield(ending)
        return code if code >= 0 else 128 - code


def _opens_editor(command: GitCommand) -> bool:
    """Return whether a command would open an editor for its message or its list of steps."""
    words = command.arguments
    if command.name == "rebase":
        return any(word in ("-i", "--interactive") for word in words)
    has_message = ("-m", "-F", "-C", "--message", "--file", "--no-edit", "--reuse-message")
    return not any(word.startswith(has_message) for word in words)


def _is_name(name: bytes) -> bool:
    return 0 < len(name) < 64 and all(c in b"0123456789-" for c in name)


@contextmanager
def _open(folder: Path) -> Iterator[_Exchange]:
    """Open the files of a request without following links.

    Raises:
        OSError, ValueError: a file is missing, or is not of the type that the wrapper creates.
    """
    with contextlib.ExitStack() as stack:

        def open_entry(name: str, flags: int, kind: Callable[[int], bool], mode: int = 0) -> int:
            descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=directory)
            stack.callback(os.close, descriptor)
            if not kind(os.fstat(descriptor).st_mode):
                raise ValueError(name)
            return descriptor

        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        parent = os.open(folder.parent, flags)
        stack.callback(os.close, parent)
        directory = os.open(folder.name, flags, dir_fd=parent)
        stack.callback(os.close, directory)
        nonblocking = os.O_NONBLOCK  # a FIFO in place of a file must not block
        request = open_entry("request", os.O_RDONLY | nonblocking, stat.S_ISREG)
        text = os.read(request, _MAX_BYTES)
        try:
            input_descriptor = open_entry("input", os.O_RDONLY | nonblocking, stat.S_ISREG)
        except FileNotFoundError:
            input_descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, input_descriptor)
        new_file = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        yield _Exchange(
            _read_request(text),
            input=input_descriptor,
            out=open_entry("out", new_file, stat.S_ISREG, 0o600),
            err=open_entry("err", new_file, stat.S_ISREG, 0o600),
            answer=open_entry("answer", os.O_RDWR | nonblocking, stat.S_ISFIFO),
            alive=open_entry("alive", os.O_RDONLY | nonblocking, stat.S_ISFIFO),
        )


def _read_request(text: bytes) -> GitRequest:
    """Parse a request of the wrapper.

    Raises:
        ValueError: the request is malformed.
    """
    directory, *rest = os.fsdecode(text).removesuffix("\0").split("\0")
    end = rest.index("")
    variables = dict(entry.split("=", 1) for entry in rest[:end])
    if not directory.startswith("/") or not variables.keys() <= {*_PASSED}:
        raise ValueError(directory)
    return GitRequest(Path(directory), variables, tuple(rest[end + 1 :]))


def _write_message(descriptor: int, text: str) -> None:
    os.write(descriptor, f"{text}\n".encode("utf-8", "surrogateescape"))


def build_wrapper(git: str, queue: str, spool: str) -> str:
    """Return the script that programs run as `git`."""
    text = Path(__file__).with_name("git_wrapper.sh").read_text("utf-8")
    for name, value in (
        ("@GIT@", shlex.quote(git)),
        ("@QUEUE@", shlex.quote(queue)),
        ("@SPOOL@", shlex.quote(spool)),
        ("@FORWARDED@", " | ".join(FORWARDED)),
        ("@VARIABLES@", " ".join(_PASSED)),
    ):
        text = text.replace(name, value)
    return text
