"""A program that executes one text after another, and what runs texts in it.

A text is written to a file, so that nothing in it (an open quote, a comment, an `&`) can affect the
program around it. Its output goes to its own FIFO, to which its background jobs continue to write:
they neither block a later text nor mix with its output. The program reports how a text ended over a
pipe.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import subprocess
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

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
_MIN_DESCRIPTOR = 200
"""The lowest descriptor number of the pipe in the program, above those that its texts use."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The output of a text, and how it ended."""

    output: str
    status: int | None
    """The exit status, or None after a timeout that killed the program."""
    exited: bool
    """Whether the program itself exited: `status` is its exit code, or minus the signal."""
    fresh: bool = False
    """Whether the program exited after the previous text, so this one ran in a fresh one."""


@dataclass(frozen=True, slots=True)
class _Pipes:
    """The pipes between us and the program."""

    stdin: asyncio.WriteTransport
    reports: asyncio.StreamReader
    source: asyncio.BaseTransport
    """The transport that feeds `reports`."""
    status: int
    """The descriptor in the program that it writes reports to."""

    def close(self) -> None:
        self.stdin.close()
        self.source.close()


@asynccontextmanager
async def _open_pipes() -> AsyncIterator[tuple[_Pipes, int, int]]:
    """Open the pipes to a program that is started in the block; close them if the block fails.

    Yields the pipes and the program's ends of them: its stdin, and the descriptor for reports.
    asyncio's own subprocess pipes are not used: if the event loop is closed while asyncio connects
    them, starting the process waits for them forever.
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


class Interpreter(ABC):
    """One running program, started by `launch`. It executes one text at a time."""

    def __init__(self, sandbox: Sandbox, process: Child, pipes: _Pipes) -> None:
        self.pid = process.pid
        self._sandbox = sandbox
        self._process = process
        self._exit = asyncio.ensure_future(process.wait())
        self._pipes = pipes
        self._number = 0
        self._last = 0
        """The status of the last text."""

    @staticmethod
    @asynccontextmanager
    async def start(
        argv: Sequence[str],
        directory: Path,
        sandbox: Sandbox,
        *,
        extra: Mapping[str, str] | None = None,
        read: Sequence[Path] = (),
        writes_git: bool = False,
    ) -> AsyncIterator[tuple[Child, _Pipes]]:
        """Start the program in a directory; `{status}` in a word is the descriptor for reports.

        Raises:
            ToolUnavailableError: the program is missing, or must not be started there.
        """
        async with _open_pipes() as (pipes, stdin, status):
            yield (
                await start(
                    [word.replace("{status}", str(status)) for word in argv],
                    directory=directory,
                    output=subprocess.DEVNULL,
                    stdin=stdin,
                    descriptors=[status],
                    extra=extra,
                    sandbox=sandbox,
                    read=read,
                    writes_git=writes_git,
                ),
                pipes,
            )

    @property
    def alive(self) -> bool:
        """Return whether the process can execute a text."""
        return not self._exit.done()

    @abstractmethod
    def _request(self, text: Path, output: Path) -> str:
        """Return what makes the program execute the text in a file."""

    @abstractmethod
    def _note_report(self, rest: str) -> None:
        """Take note of what a report says beside the status."""

    async def execute(self, text: Path, output: Path, seconds: float) -> int | None:
        """Execute the text in a file; return its status, the exit code, or None after a timeout.

        After a timeout, and when the caller is cancelled, the text continues until `end`.
        """
        self._number += 1
        self._send(self._request(text, output))
        return await self._wait(seconds)

    async def _wait(self, seconds: float) -> int | None:
        report = asyncio.ensure_future(self._read_report())
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait((report, self._exit), return_when=asyncio.FIRST_COMPLETED)
                status = report.result() if report.done() else None
                if status is None:  # it is exiting, or has closed the pipe and will exit
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
        """Return the status of the current text; None if the program exited without a report."""
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                report = os.fsdecode(await self._pipes.reports.readuntil(b"\0"))
                number, _, rest = report.removesuffix("\0").partition(" ")
                status, _, rest = rest.partition(" ")
                if number == str(self._number) and status.isdecimal():
                    self._note_report(rest.removesuffix("\n"))
                    return int(status)
        return None

    async def end(self) -> None:
        """Kill the process and everything it has started."""
        try:
            await end(self._process)
        finally:
            self._exit.cancel()
            self._pipes.close()


AnyInterpreter = TypeVar("AnyInterpreter", bound=Interpreter)


class TextRunner(ABC, Generic[AnyInterpreter]):
    """Runs one text at a time in an interpreter, and starts a fresh one if it has exited."""

    def __init__(self, workspace: Workspace, sandbox: Sandbox) -> None:
        self._workspace = workspace
        self._sandbox = sandbox
        # outside the workspace if possible, or `grep -r` would find its own command line
        folders = sandbox.shell_folder or (workspace.private / "shell", workspace.private / "shell")
        self._folder, self._folder_inside = folders
        self._name = secrets.token_hex(4)
        self._interpreter: AnyInterpreter | None = None
        self._was_lost = False
        """Whether the interpreter has exited and no result has reported it yet."""
        self._readers: list[PipeReader] = []
        self._texts = 0
        self._turn = asyncio.Lock()

    @abstractmethod
    async def _launch(self) -> AnyInterpreter:
        """Start an interpreter."""

    async def _note_end(self, interpreter: AnyInterpreter) -> None:
        """Take note of the state in which an interpreter is after a text."""

    async def run(self, text: bytes, seconds: float) -> Ended:
        """Run a text.

        After a timeout, or when the caller is cancelled, everything the interpreter started is
        killed.

        Raises:
            ToolUnavailableError: the interpreter does not start, or the text cannot be written.
        """
        async with self._turn:
            interpreter = await self._ensure_process()
            async with self._files(text) as (file, reader):
                inside = self._folder_inside / file.name
                fresh = self._was_lost
                self._was_lost = False
                try:
                    async with self._sandbox.limits.watch(interpreter.pid):
                        output = inside.with_suffix(".out")
                        status = await interpreter.execute(inside, output, seconds)
                    if not interpreter.alive:  # kill its background jobs too
                        await self._end()
                    await self._note_end(interpreter)
                except BaseException:
                    self._was_lost = True
                    await self._end()
                    raise
                exited = status is not None and not interpreter.alive
                if status is None:
                    await self._end()
            await reader.wait_until_closed(_OUTPUT_DELAY)
            printed = await asyncio.to_thread(reader.take().text)
            return Ended(self._tidy(printed, inside), status, exited, fresh)

    def _tidy(self, printed: str, text: Path) -> str:
        """Return the output without what differs from run to run, such as the name of the file."""
        return printed.replace(str(text), "text")

    async def restart(self) -> None:
        """Kill everything the interpreter started; the next text runs in a fresh one."""
        async with self._turn:
            await self._end()
            self._was_lost = False

    async def close(self) -> None:
        """Kill everything the interpreter has started, and close the readers."""
        await self._end()
        for reader in self._readers:
            reader.close()

    async def _ensure_process(self) -> AnyInterpreter:
        if self._interpreter is not None and not self._interpreter.alive:
            self._was_lost = True
            interpreter = self._interpreter
            await self._end()
            await self._note_end(interpreter)
        if self._interpreter is None:
            self._interpreter = await self._launch()
        return self._interpreter

    async def _end(self) -> None:
        interpreter = self._interpreter
        self._interpreter = None
        if interpreter is not None:
            await interpreter.end()

    @asynccontextmanager
    async def _files(self, text: bytes) -> AsyncIterator[tuple[Path, PipeReader]]:
        """Write a text to a file; yield it, and the reader of the FIFO for its output.

        The reader outlives the text if a background job does.
        """
        self._texts += 1
        file = self._folder / f"{self._name}-{self._texts}"
        fifo = file.with_suffix(".out")
        try:
            await asyncio.to_thread(_prepare_files, file, text, fifo)
            reader = PipeReader(open_at(fifo, os.O_RDONLY))
            self._readers = [*(old for old in self._readers if not old.closed), reader]
            # Keep a writer open, so that the reader sees no end of file before the text writes.
            writing = open_at(fifo, os.O_WRONLY)
            try:
                yield file, reader
            finally:
                os.close(writing)
        finally:
            for path in (file, fifo):
                with contextlib.suppress(OSError):
                    await asyncio.to_thread(remove, path)


def _prepare_files(file: Path, text: bytes, fifo: Path) -> None:
    try:
        write_private(file, text)
        with enter(fifo.parent) as at:
            os.mkfifo(fifo.name, 0o600, dir_fd=at)
    except OSError as error:
        raise ToolUnavailableError(
            f"The shell cannot write to {file.parent} ({error.strerror}); free "
            "space there, or choose another file system with TMPDIR or, without a sandbox, with "
            "`--workspace`."
        ) from None
