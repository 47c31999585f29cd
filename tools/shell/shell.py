"""The persistent shell: commands one after the other, in a bash that is replaced when it ends.

The output of each command goes to a FIFO of its own: a background job goes on writing there, and
neither holds up nor soils a later command.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from manus.state.errors import ToolUnavailableError
from manus.state.files import make_private_folder
from manus.tools.shell.bash_process import BashProcess, Ending
from manus.tools.shell.output import PipeReader
from manus.tools.workspace import Workspace

_LATE = 0.1
"""Seconds that background jobs which hold the output are given, so that what `echo a &` prints is
seen each time and not by chance."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command printed, and how it ended (see `Ending`).

    `directory` is where the next command begins. `fresh` is true when the shell had ended since
    the command before, so that this one found a fresh shell.
    """

    output: str
    ending: Ending
    directory: Path
    fresh: bool = False


class Shell:
    """The shell of one session.

    Commands wait for each other. Whatever has become of bash, the next command works: in a fresh
    one, in the directory where the old one ended.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._name = secrets.token_hex(4)
        self._directory = workspace.root
        self._bash: BashProcess | None = None
        self._exited: list[BashProcess] = []
        """Those that have ended by themselves; background jobs of theirs may go on."""
        self._lost = False
        """A shell has ended and nobody has been told."""
        self._readers: list[PipeReader] = []
        self._commands = 0
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, workspace: Workspace) -> Shell:
        """Start the shell in the workspace.

        Raises:
            ToolUnavailableError: there is no bash here, or it does not start.
        """
        shell = cls(workspace)
        await shell._ready()
        return shell

    async def run(self, command: bytes, seconds: float) -> CommandResult:
        """Carry out a command.

        When its time is up, or the caller is cancelled, all that the shell has started is ended.

        Raises:
            ToolUnavailableError: the shell has ended and does not start again.
        """
        async with self._turn:
            bash = await self._ready()
            await bash.lay_down(command)
            async with self._fifo() as (path, reader):
                fresh, self._lost = self._lost, False
                ending = await self._carry_out(bash, str(path), seconds)
            await reader.wait_until_closed(_LATE)
            capture = reader.take()
            output = await asyncio.to_thread(lambda: bash.stable(capture.text()))
            directory = bash.directory if self._bash else self._directory
        return CommandResult(output, ending, directory, fresh)

    async def _carry_out(self, bash: BashProcess, path: str, seconds: float) -> Ending:
        try:
            ending = await bash.carry_out(path, seconds)
            if ending.status is None:
                await self._end()
            elif ending.exited:
                await self._let_go(bash)
        except BaseException:
            self._lost = True
            await self._end()
            raise
        return ending

    async def restart(self) -> None:
        """End all that the shell has started; the next command finds a fresh one in the root."""
        async with self._turn:
            await self._end()
            self._directory, self._lost = self._workspace.root, False

    async def close(self) -> None:
        """End all that the shell has started."""
        await self._end()
        for reader in self._readers:
            reader.close()

    async def _ready(self) -> BashProcess:
        if self._bash is not None:
            if self._bash.alive:
                return self._bash
            self._lost = True
            await self._let_go(self._bash)
        self._bash = await BashProcess.launch(self._workspace, self._directory)
        return self._bash

    async def _let_go(self, bash: BashProcess) -> None:
        """Bash has ended, but its background jobs go on, as they do when a script ends."""
        self._bash = None
        self._exited.append(bash)
        bash.release()
        await self._stay(bash.directory)

    async def _end(self) -> None:
        bash, self._bash = self._bash, None
        ending = [*self._exited, *filter(None, [bash])]
        self._exited = []
        await asyncio.gather(*(one.end() for one in ending))
        if bash is not None:
            await self._stay(bash.directory)

    async def _stay(self, directory: Path) -> None:
        """The next bash begins in that directory, if it is still there."""
        there = await asyncio.to_thread(os.access, directory, os.X_OK)
        self._directory = directory if there and directory.is_absolute() else self._workspace.root

    @asynccontextmanager
    async def _fifo(self) -> AsyncIterator[tuple[Path, PipeReader]]:
        """A FIFO for one command, and its reader, which outlives it if a background job does."""
        self._commands += 1
        path = self._workspace.private / "shell" / f"{self._name}-{self._commands}"
        await asyncio.to_thread(_make_fifo, path)
        reader = PipeReader(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        self._readers = [*(old for old in self._readers if not old.closed), reader]
        # Held open by us too, so that the end is not seen before the command has begun to write.
        writing = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        try:
            yield path, reader
        finally:
            os.close(writing)
            await asyncio.to_thread(path.unlink, missing_ok=True)


def _make_fifo(path: Path) -> None:
    try:
        make_private_folder(path.parent)
        os.mkfifo(path, 0o600)
    except OSError as error:
        raise ToolUnavailableError(
            f"The shell cannot work in this workspace: it cannot make a FIFO in {path.parent} "
            f"({error.strerror}); free space, or choose a workspace on another file system."
        ) from None
