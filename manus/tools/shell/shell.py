"""The persistent shell: commands one after the other, in a bash that is replaced when it ends.

A command lies in a file that bash `source`s, so that nothing in it (an open quote, a comment, a
heredoc, an `&`) can reach the words that we say around it. Its output goes to a FIFO of its own: a
background job goes on writing there, and neither holds up nor soils a later command. How it ended,
and where it is, bash says over a pipe.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import secrets
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from manus.execution.process import end, start
from manus.execution.process_output import PipeReader
from manus.execution.safe_open import enter, open_at, remove, write_private
from manus.execution.sandbox.sandbox import Sandbox
from manus.execution.workspace import Workspace
from manus.state.errors import ToolUnavailableError

_LATE = 0.1
"""Seconds that background jobs which hold the output are given, so that what `echo a &` prints is
seen each time and not by chance."""
_HIGH = 200
"""The pipe's number in bash is at least this one, out of the way of those that people use."""

# On lines of their own: an error that throws bash back to its prompt skips the rest of a line. The
# command finds in `$?` what the last one left. A shell that can no longer say how a command ended
# (it took to `set -r`, closed the pipe, or switched off `printf`) is of no use: it ends at once.
# Each says it by itself: what a `trap … DEBUG` prints goes where a group of them prints. And `pwd`
# without `-P`, which in a folder that was removed makes bash forget where it is.
_SAY = r"""{before}\builtin source {text} </dev/null >{output} 2>&1
\builtin printf '%s %s ' {number} "$?" >&{status} 2>/dev/null || \builtin exit
\builtin pwd >&{status} 2>/dev/null || \builtin :
\builtin printf '\0' >&{status} 2>/dev/null || \builtin exit
"""
_CRASH = re.compile(r"(?m)^([^\s:]+: line \d+:) +\d+ (?=[A-Z])")
"""How bash says that a signal ended a program; the process id in it is never the same."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command printed, and how it ended."""

    output: str
    status: int | None
    """`$?`, or None if the time was up."""
    exited: bool
    """Bash itself has ended: `status` is its exit code, or minus the signal that killed it."""
    directory: Path
    """Where the next command begins."""
    fresh: bool = False
    """The shell had ended since the command before, so that this one found a fresh one."""


@dataclass(frozen=True, slots=True)
class _Pipes:
    """The pipes between us and a bash."""

    stdin: asyncio.WriteTransport
    reports: asyncio.StreamReader
    source: asyncio.BaseTransport
    """Where `reports` are read from."""
    status: int
    """The number in bash of the descriptor that it writes reports to."""

    def close(self) -> None:
        self.stdin.close()
        self.source.close()


@asynccontextmanager
async def _open_pipes() -> AsyncIterator[tuple[_Pipes, int, int]]:
    """Open the pipes to a bash that is started in the block; close them if it is not.

    Yields the pipes, and bash's ends of them: its stdin, and where it writes reports. They are not
    asyncio's own pipes of a process: if the event loop is closed while asyncio connects those, the
    start waits for them forever.
    """
    loop = asyncio.get_running_loop()
    reports = asyncio.StreamReader()
    with contextlib.ExitStack() as ends, contextlib.ExitStack() as failure:
        stdin, writing = os.pipe()
        ends.callback(os.close, stdin)
        writer = failure.enter_context(os.fdopen(writing, "wb", buffering=0))
        reading, low = os.pipe()
        reader = failure.enter_context(os.fdopen(reading, "rb", buffering=0))
        status = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _HIGH)
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


class Bash:
    """One bash, made by `launch`. It carries out one command at a time."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
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
        """Where it was when a command last ended."""
        self._number = 0
        self._last = 0

    @classmethod
    async def launch(cls, directory: Path, sandbox: Sandbox) -> Bash:
        """Start bash in a directory.

        Raises:
            ToolUnavailableError: there is no bash, or it may not be started there.
        """
        async with _open_pipes() as (pipes, stdin, status):
            process = await start(
                ["bash", "--noprofile", "--norc"],
                directory=directory,
                output=asyncio.subprocess.DEVNULL,
                stdin=stdin,
                descriptors=[status],
                sandbox=sandbox,
            )
        bash = cls(process, pipes, directory, sandbox)
        bash._say("shopt -s expand_aliases\n")
        return bash

    @property
    def alive(self) -> bool:
        """Whether it can be given a command."""
        return not self._exit.done()

    async def carry_out(self, text: Path, output: Path, seconds: float) -> int | None:
        """Carry out the command in a file: `$?`, or how bash ended, or None if the time is up.

        In the last case, and when the caller is cancelled, it goes on until `end`.
        """
        self._number += 1
        words = _SAY.format(
            before=f"(\\exit {self._last}) || " if self._last else "",
            text=shlex.quote(str(text)),
            output=shlex.quote(str(output)),
            number=self._number,
            status=self._pipes.status,
        )
        self._say(words)
        report = asyncio.ensure_future(self._report())
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait((report, self._exit), return_when=asyncio.FIRST_COMPLETED)
                status = report.result() if report.done() else None
                if status is None:  # bash ends, or has let go of the pipe and ends after that
                    return self._sandbox.exit_code(await asyncio.shield(self._exit))
        except TimeoutError:
            return None
        finally:
            report.cancel()
        self._last = status
        return status

    def _say(self, words: str) -> None:
        self._pipes.stdin.write(os.fsencode(words))

    async def _report(self) -> int | None:
        """`$?` after the present command; None if bash has gone without a word."""
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                said = os.fsdecode(await self._pipes.reports.readuntil(b"\0"))
                about, _, rest = said.removesuffix("\0").partition(" ")
                status, _, where = rest.partition(" ")
                if about == str(self._number) and status.isdecimal():
                    if where.startswith("/"):  # else it is in a folder that was removed
                        self.directory = Path(where.removesuffix("\n"))
                    return int(status)
        return None

    async def end(self) -> None:
        """End it, and everything that it has started."""
        await end(self._process)
        self._exit.cancel()
        self._pipes.close()


class Shell:
    """The shell of one session.

    Commands wait for each other. Whatever has become of bash, the next command works: in a fresh
    one, in the directory where the old one was when a command last ended.
    """

    def __init__(self, workspace: Workspace, sandbox: Sandbox) -> None:
        self._workspace = workspace
        self._sandbox = sandbox
        self._folder = workspace.private / "shell"
        self._name = secrets.token_hex(4)
        self._directory = workspace.root
        self._bash: Bash | None = None
        self._lost = False
        """A shell has ended and nobody has been told."""
        self._readers: list[PipeReader] = []
        self._commands = 0
        self._turn = asyncio.Lock()

    async def run(self, command: bytes, seconds: float) -> CommandResult:
        """Carry out a command.

        When its time is up, or the caller is cancelled, all that the shell has started is ended.

        Raises:
            ToolUnavailableError: the shell does not start, or has no room for the command.
        """
        async with self._turn:
            bash = await self._ready()
            async with self._files(command) as (text, fifo, reader):
                fresh = self._lost
                self._lost = False
                try:
                    async with self._sandbox.limits.watching(bash.pid):
                        status = await bash.carry_out(text, fifo, seconds)
                    await self._note(bash)
                except BaseException:
                    self._lost = True
                    await self._end()
                    raise
                exited = status is not None and not bash.alive
                if status is None:
                    await self._end()
            await reader.wait_until_closed(_LATE)
            printed = await asyncio.to_thread(reader.take().text)
            output = _CRASH.sub(r"\1 ", printed.replace(str(text), "bash"))
            return CommandResult(output, status, exited, self._directory, fresh)

    async def restart(self) -> None:
        """End all that the shell has started; the next command finds a fresh one in the root."""
        async with self._turn:
            await self._end()
            self._directory = self._workspace.root
            self._lost = False

    async def close(self) -> None:
        """End all that the shell has started."""
        await self._end()
        for reader in self._readers:
            reader.close()

    async def _ready(self) -> Bash:
        if self._bash is not None and not self._bash.alive:
            self._lost = True
            await self._note(self._bash)
        if self._bash is None:
            self._bash = await Bash.launch(self._directory, self._sandbox)
        return self._bash

    async def _note(self, bash: Bash) -> None:
        """Remember where bash is. If it has ended, so do its background jobs."""
        if not bash.alive:
            await self._end()
        where = await asyncio.to_thread(os.path.realpath, bash.directory)
        is_there = await asyncio.to_thread(os.access, where, os.X_OK)
        self._directory = Path(where) if is_there else self._workspace.root

    async def _end(self) -> None:
        bash = self._bash
        self._bash = None
        if bash is not None:
            await bash.end()

    @asynccontextmanager
    async def _files(self, command: bytes) -> AsyncIterator[tuple[Path, Path, PipeReader]]:
        """A command in a file, a FIFO for its output, and its reader.

        The reader outlives the command if a background job does.
        """
        self._commands += 1
        text = self._folder / f"{self._name}-{self._commands}"
        fifo = text.with_suffix(".out")
        try:
            await asyncio.to_thread(_lay_down, text, command, fifo)
            reader = PipeReader(open_at(fifo, os.O_RDONLY))
            self._readers = [*(old for old in self._readers if not old.closed), reader]
            # Held open by us too, so that the end is not seen before the command begins to write.
            writing = open_at(fifo, os.O_WRONLY)
            try:
                yield text, fifo, reader
            finally:
                os.close(writing)
        finally:
            for path in (text, fifo):
                with contextlib.suppress(OSError):
                    await asyncio.to_thread(remove, path)


def _lay_down(text: Path, command: bytes, fifo: Path) -> None:
    try:
        write_private(text, command)
        with enter(fifo.parent) as at:
            os.mkfifo(fifo.name, 0o600, dir_fd=at)
    except OSError as error:
        raise ToolUnavailableError(
            f"The shell cannot work in this workspace: it cannot write in {text.parent} "
            f"({error.strerror}); free space, or choose a workspace on another file system."
        ) from None
