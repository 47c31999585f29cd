"""The persistent shell: run commands one by one in a bash that is restarted when it exits.

A command is written to a file that bash `source`s, so that nothing in it (an open quote, a comment,
a heredoc, an `&`) can affect the script around it. Its output goes to its own FIFO, to which its
background jobs continue to write: they neither block a later command nor mix with its output. Bash
reports the exit status and the working directory over a pipe.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import secrets
import shlex
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from manus.sandbox.child import Child
from manus.sandbox.process import end, start
from manus.sandbox.process_output import PipeReader
from manus.sandbox.sandbox import Sandbox
from manus.state.errors import ToolUnavailableError
from manus.workspace.safe_open import enter, open_at, remove, write_private
from manus.workspace.workspace import Workspace

_OUTPUT_DELAY = 0.1
"""Seconds to wait for background jobs that hold the output open, so that the output of `echo a &`
is always captured rather than depending on a race."""
_EXPORT_SECONDS = 10.0
_MIN_DESCRIPTOR = 200
"""The lowest descriptor number of the pipe in bash, above those that commands use."""

# Separate lines, because an error that returns bash to its prompt skips the rest of the line. The
# command sees the previous exit status in `$?`. A shell that can no longer report how a command
# ended (after `set -r`, with the pipe closed, or without `printf`) exits at once. Each line has its
# own redirection, because the output of a `trap … DEBUG` goes where a group's output goes. `pwd` is
# used without `-P`, which makes bash forget its directory if that was removed.
_COMMAND_SCRIPT = r"""{before}\builtin source {text} </dev/null >{output} 2>&1
\builtin printf '%s %s ' {number} "$?" >&{status} 2>/dev/null || \builtin exit
\builtin pwd >&{status} 2>/dev/null || \builtin :
\builtin printf '\0' >&{status} 2>/dev/null || \builtin exit
"""
_CRASH = re.compile(r"(?m)^([^\s:]+: line \d+:) +\d+ (?=[A-Z])")
"""The message of bash that a signal ended a program; its process id varies."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The output of a command, and how it ended."""

    output: str
    status: int | None
    """`$?`, or None after a timeout."""
    exited: bool
    """Whether bash itself exited: `status` is its exit code, or minus the signal that killed it."""
    directory: Path
    """The working directory of the next command."""
    fresh: bool = False
    """Whether the shell exited after the previous command, so this one ran in a fresh shell."""


@dataclass(frozen=True, slots=True)
class _Pipes:
    """The pipes between us and a bash."""

    stdin: asyncio.WriteTransport
    reports: asyncio.StreamReader
    source: asyncio.BaseTransport
    """The transport that feeds `reports`."""
    status: int
    """The descriptor in bash that it writes reports to."""

    def close(self) -> None:
        self.stdin.close()
        self.source.close()


@asynccontextmanager
async def _open_pipes() -> AsyncIterator[tuple[_Pipes, int, int]]:
    """Open the pipes to a bash that is started in the block; close them if the block fails.

    Yields the pipes and bash's ends of them: its stdin, and the descriptor for reports. asyncio's
    own subprocess pipes are not used: if the event loop is closed while asyncio connects them,
    starting the process waits for them forever.
    """
    loop = asyncio.get_running_loop()
    reports = asyncio.StreamReader()
    with contextlib.ExitStack() as ends, contextlib.ExitStack() as failure:
        stdin, writing = os.pipe()
        ends.callback(os.close, stdin)
        writer = failure.enter_context(os.fdopen(writing, "wb", buffering=0))
        reading, low = os.pipe()
        reader = failure.enter_context(os.fdopen(reading, "rb", buffering=0))
        status = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _MIN_DESCRIPTOR)
        ends.callback(os.close, status)
        os.close(low)
        source, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reports), reader
        )
        failure.callback(source.close)
        sink, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, writer)
        failure.callback(sink.close)
        yield _Pipes(sink, reports, source, status), stdin, status
        failure.pop_all()


class BashProcess:
    """One bash process, started by `launch`. It runs one command at a time."""

    def __init__(
        self,
        process: Child,
        pipes: _Pipes,
        directory: Path,
        sandbox: Sandbox,
    ) -> None:
        self._process = process
        self.pid = process.pid
        self._sandbox = sandbox
        self._exit = asyncio.ensure_future(process.wait())
        self._pipes = pipes
        self.directory = directory
        """The working directory after the last command."""
        self._number = 0
        self._last = 0

    @classmethod
    async def launch(cls, directory: Path, sandbox: Sandbox, *, writes_git: bool) -> BashProcess:
        """Start bash in a directory.

        Raises:
            ToolUnavailableError: bash is missing, or must not be started there.
        """
        async with _open_pipes() as (pipes, stdin, status):
            process = await start(
                ["bash", "--noprofile", "--norc"],
                directory=directory,
                output=subprocess.DEVNULL,
                stdin=stdin,
                descriptors=[status],
                sandbox=sandbox,
                writes_git=writes_git,
            )
        bash = cls(process, pipes, directory, sandbox)
        bash._send("shopt -s expand_aliases\n")
        return bash

    @property
    def alive(self) -> bool:
        """Return whether the process can run a command."""
        return not self._exit.done()

    async def carry_out(self, text: Path, output: Path, seconds: float) -> int | None:
        """Run the command in a file; return `$?`, bash's exit code, or None after a timeout.

        After a timeout, and when the caller is cancelled, the command continues until `end`.
        """
        self._number += 1
        words = _COMMAND_SCRIPT.format(
            before=f"(\\exit {self._last}) || " if self._last else "",
            text=shlex.quote(str(text)),
            output=shlex.quote(str(output)),
            number=self._number,
            status=self._pipes.status,
        )
        self._send(words)
        report = asyncio.ensure_future(self._read_report())
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait((report, self._exit), return_when=asyncio.FIRST_COMPLETED)
                status = report.result() if report.done() else None
                if status is None:  # bash is exiting, or has closed the pipe and will exit
                    return self._sandbox.exit_code(await asyncio.shield(self._exit))
        except TimeoutError:
            return None
        finally:
            report.cancel()
        self._last = status
        return status

    def _send(self, words: str) -> None:
        self._pipes.stdin.write(os.fsencode(words))

    async def _read_report(self) -> int | None:
        """Return `$?` of the current command; None if bash exited without a report."""
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                report = os.fsdecode(await self._pipes.reports.readuntil(b"\0"))
                number, _, rest = report.removesuffix("\0").partition(" ")
                status, _, directory = rest.partition(" ")
                if number == str(self._number) and status.isdecimal():
                    if directory.startswith("/"):  # otherwise its folder was removed
                        self.directory = Path(directory.removesuffix("\n"))
                    return int(status)
        return None

    async def end(self) -> None:
        """Kill the process and everything it has started."""
        await end(self._process)
        self._exit.cancel()
        self._pipes.close()


class Shell:
    """The shell of one session.

    Commands run one at a time. If bash has exited, the next command runs in a fresh one, in the
    directory of the old one after its last command.
    """

    def __init__(
        self,
        workspace: Workspace,
        sandbox: Sandbox,
        *,
        directory: Path | None = None,
        writes_git: bool = False,
    ) -> None:
        """Create a shell that starts in a directory [default: the root of the workspace].

        `writes_git`: its programs may change repositories.
        """
        self._workspace = workspace
        self._writes_git = writes_git
        self._sandbox = sandbox
        # outside the workspace if possible, or `grep -r` would find its own command line
        folders = sandbox.shell_folder or (workspace.private / "shell", workspace.private / "shell")
        self._folder, self._folder_inside = folders
        self._name = secrets.token_hex(4)
        self._directory = directory or workspace.root
        self._bash: BashProcess | None = None
        self._was_lost = False
        """Whether the shell has exited and no result has reported it yet."""
        self._readers: list[PipeReader] = []
        self._commands = 0
        self._turn = asyncio.Lock()

    async def run(self, command: bytes, seconds: float) -> CommandResult:
        """Run a command.

        After a timeout, or when the caller is cancelled, everything the shell started is killed.

        Raises:
            ToolUnavailableError: the shell does not start, or cannot write the command to a file.
        """
        async with self._turn:
            bash = await self._ensure_process()
            async with self._files(command) as (text, reader):
                inside = self._folder_inside / text.name
                fresh = self._was_lost
                self._was_lost = False
                try:
                    async with self._sandbox.limits.watch(bash.pid):
                        status = await bash.carry_out(inside, inside.with_suffix(".out"), seconds)
                    await self._update_directory(bash)
                except BaseException:
                    self._was_lost = True
                    await self._end()
                    raise
                exited = status is not None and not bash.alive
                if status is None:
                    await self._end()
            await reader.wait_until_closed(_OUTPUT_DELAY)
            printed = await asyncio.to_thread(reader.take().text)
            output = _CRASH.sub(r"\1 ", printed.replace(str(inside), "bash"))
            return CommandResult(output, status, exited, self._directory, fresh)

    @property
    def directory(self) -> Path:
        """Return the directory of the next command."""
        return self._directory

    async def run_with_git(self, command: bytes, seconds: float) -> CommandResult:
        """Run a command in a shell of its own that may change repositories.

        It has this shell's directory and exported variables, and ends with the command.
        """
        exports = await self.run(b"export -p", _EXPORT_SECONDS)
        shell = Shell(self._workspace, self._sandbox, directory=self._directory, writes_git=True)
        try:
            before = exports.output.encode("utf-8", "surrogatepass")
            # some variables, such as those that are read-only, cannot be set
            return await shell.run(b"{\n%s\n} 2>/dev/null\n%s" % (before, command), seconds)
        finally:
            await shell.close()

    async def restart(self) -> None:
        """Kill everything the shell started; the next command runs in the root, in a fresh one."""
        async with self._turn:
            await self._end()
            self._directory = self._workspace.root
            self._was_lost = False

    async def close(self) -> None:
        """Kill everything the shell has started, and close the readers."""
        await self._end()
        for reader in self._readers:
            reader.close()

    async def _ensure_process(self) -> BashProcess:
        if self._bash is not None and not self._bash.alive:
            self._was_lost = True
            await self._update_directory(self._bash)
        if self._bash is None:
            self._bash = await BashProcess.launch(
                self._directory, self._sandbox, writes_git=self._writes_git
            )
        return self._bash

    async def _update_directory(self, bash: BashProcess) -> None:
        """Record the directory of bash. If bash has exited, kill its background jobs too."""
        if not bash.alive:
            await self._end()
        directory = await asyncio.to_thread(os.path.realpath, bash.directory)
        is_there = await asyncio.to_thread(os.access, directory, os.X_OK)
        self._directory = Path(directory) if is_there else self._workspace.root

    async def _end(self) -> None:
        bash = self._bash
        self._bash = None
        if bash is not None:
            await bash.end()

    @asynccontextmanager
    async def _files(self, command: bytes) -> AsyncIterator[tuple[Path, PipeReader]]:
        """Write a command to a file; yield it, and the reader of the FIFO for its output.

        The reader outlives the command if a background job does.
        """
        self._commands += 1
        text = self._folder / f"{self._name}-{self._commands}"
        fifo = text.with_suffix(".out")
        try:
            await asyncio.to_thread(_prepare_files, text, command, fifo)
            reader = PipeReader(open_at(fifo, os.O_RDONLY))
            self._readers = [*(old for old in self._readers if not old.closed), reader]
            # Keep a writer open, so that the reader sees no end of file before the command writes.
            writing = open_at(fifo, os.O_WRONLY)
            try:
                yield text, reader
            finally:
                os.close(writing)
        finally:
            for path in (text, fifo):
                with contextlib.suppress(OSError):
                    await asyncio.to_thread(remove, path)


def _prepare_files(text: Path, command: bytes, fifo: Path) -> None:
    try:
        write_private(text, command)
        with enter(fifo.parent) as at:
            os.mkfifo(fifo.name, 0o600, dir_fd=at)
    except OSError as error:
        raise ToolUnavailableError(
            f"The shell cannot write to {text.parent} ({error.strerror}); free "
            "space there, or choose another file system with TMPDIR or, without a sandbox, with "
            "`--workspace`."
        ) from None
