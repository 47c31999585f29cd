"""One bash that is told what to do over a pipe, and says over another what came of it.

A command lies in a file without a name that bash `source`s, so that nothing in it (an open quote,
a comment, a heredoc, an `&`) can reach the words that we say around it.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import psutil

from manus.state.errors import ToolUnavailableError
from manus.tools.shell.bash_channels import Channels, Report
from manus.tools.shell.process import Process, exit_state, prepare, start
from manus.tools.workspace import Workspace

_START = 60.0
"""Seconds in which bash must have said that it is there."""

_BOOT = r"""exec {control}<&-
shopt -s expand_aliases
trap '\builtin printf "exit %s %s %s\0" "$?" "$-" "${{PWD-}}" >&{status}' EXIT
\builtin printf '%s 0 %s %s\0' 0 "$-" "${{PWD-}}" >&{status}
"""
# On lines of their own: an error that throws bash back to its prompt skips the rest of a line.
# A shell that can no longer read a command, redirect its output or report on it (one that closed
# every descriptor, took to `set -r`, or switched off `printf`) is of no use: it ends at once.
_SAY = r"""{before}
\builtin source /dev/fd/{text} </dev/null >{output} 2>&1
\builtin printf '%s %s %s %s\0' {number} "$?" "$-" "${{PWD-}}" \
>&{status} </dev/fd/{text} 2>/dev/null || \builtin exit
"""
_CRASH = re.compile(r"(?m)^([^\s:]+: line \d+:) +\d+ (?=[A-Z])")
"""How bash says that a signal ended a program; the process id in it is never the same."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended.

    `status` is `$?`, or None if the time was up. `exited` is true when bash itself has ended; then
    `status` is its exit code, or minus the number of the signal that killed it.
    """

    status: int | None
    exited: bool = False


class BashProcess:
    """A running bash, made by `launch`. It carries out one command at a time."""

    def __init__(self, process: Process, channels: Channels, directory: Path) -> None:
        self.directory = directory
        """Where it is, or was when it was last heard of."""
        self._process = process
        self._channels = channels
        self._exit = asyncio.ensure_future(process.wait())
        self._number = 0
        self._before = ""

    @classmethod
    async def launch(cls, workspace: Workspace, directory: Path) -> BashProcess:
        """Start bash in a directory, and wait until it is there.

        Raises:
            ToolUnavailableError: there is no bash, or it does not start.
        """
        channels = Channels(await asyncio.to_thread(TemporaryFile))
        try:
            argv = [*await asyncio.to_thread(_bash), f"/dev/fd/{channels.control}"]
            plan = await asyncio.to_thread(prepare, argv, workspace=workspace, directory=directory)
            theirs = (channels.text, channels.control, channels.status)
            nowhere = asyncio.subprocess.DEVNULL
            process = await start(plan, output=nowhere, descriptors=theirs)
        except BaseException:
            channels.close()
            raise
        channels.begin()
        bash = cls(process, channels, directory)
        try:
            await bash._greet()
        except BaseException:
            await bash.end()
            raise
        return bash

    async def _greet(self) -> None:
        boot = _BOOT.format(control=self._channels.control, status=self._channels.status)
        ending = await self._say(boot, _START)
        if ending.status is None:
            raise ToolUnavailableError(
                f"The shell does not start: bash gave no sign within {_START:.0f} s; "
                "use another tool, or try again when the machine is less busy."
            )
        if ending.exited:
            raise ToolUnavailableError(
                f"The shell does not start: bash ended at once ({exit_state(ending.status)}); "
                "use another tool."
            )

    @property
    def alive(self) -> bool:
        """Whether it can be given a command."""
        return not self._exit.done()

    async def lay_down(self, command: bytes) -> None:
        """Put a command where `carry_out` finds it.

        Raises:
            ToolUnavailableError: there is no room for it.
        """
        try:
            await asyncio.to_thread(self._channels.write_text, command)
        except OSError as error:
            raise ToolUnavailableError(
                f"The command cannot be handed to the shell ({error.strerror}); free space in the "
                "folder for temporary files."
            ) from None

    async def carry_out(self, output: str, seconds: float) -> Ending:
        """Carry out the command that was laid down; its output goes to the FIFO `output`.

        When the time is up, or the caller is cancelled, bash goes on until `end`.
        """
        self._number += 1
        words = _SAY.format(
            before=self._before,
            text=self._channels.text,
            output=shlex.quote(output),
            number=self._number,
            status=self._channels.status,
        )
        return await self._say(words, seconds)

    async def _say(self, words: str, seconds: float) -> Ending:
        report = self._channels.say(words, str(self._number))
        either: list[asyncio.Future[Any]] = [report, self._exit]
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._exit.done() and not report.done():
            self._channels.listen()  # its last words may not have been read yet
        if report.done():
            self._note(report.result())
            return Ending(report.result().status)
        if not self._exit.done():
            return Ending(None)
        if self._channels.farewell is not None:
            self.directory = Path(self._channels.farewell.directory)
        return Ending(self._exit.result(), exited=True)

    def _note(self, report: Report) -> None:
        self.directory = Path(report.directory)
        # The next command finds in `$?` what the last one left, not what our words in between did.
        restore = report.status and "e" not in report.options
        self._before = f"(\\exit {report.status})" if restore else ""

    def stable(self, text: str) -> str:
        """Its output without what differs between two runs of the same command."""
        ours = f"/dev/fd/(?:{self._channels.text}|{self._channels.control})(?![0-9])"
        return _CRASH.sub(r"\1 ", re.sub(ours, "bash", text))

    async def end(self) -> None:
        """End it, and everything that it has started."""
        if self.alive:
            self.directory = await asyncio.to_thread(_where, self._process.pid, self.directory)
        await self._process.end()
        self.release()

    def release(self) -> None:
        """Close what connects us; what it has started goes on."""
        self._exit.cancel()
        self._channels.close()


def _bash() -> list[str]:
    path = shutil.which("bash")
    if path is None:
        raise ToolUnavailableError(
            "The shell does not start: there is no bash on PATH; install it, or use another tool."
        )
    return [path, "--noprofile", "--norc"]


def _where(pid: int, otherwise: Path) -> Path:
    try:
        return Path(psutil.Process(pid).cwd())
    except psutil.Error:
        return otherwise
