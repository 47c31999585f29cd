"""The persistent shell: run commands one by one in a bash that is restarted when it exits."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from pathlib import Path

from typing_extensions import override

from manus.sandbox.sandbox import Sandbox
from manus.tools.shell.interpreter import Ended, Interpreter, TextRunner
from manus.workspace.workspace import Workspace

_EXPORT_SECONDS = 10.0

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


class BashProcess(Interpreter):
    """One bash process, which `source`s the file of each command."""

    directory: Path
    """The working directory after the last command."""

    @classmethod
    async def launch(cls, directory: Path, sandbox: Sandbox, *, writes_git: bool) -> BashProcess:
        """Start bash in a directory.

        Raises:
            ToolUnavailableError: bash is missing, or must not be started there.
        """
        argv = ["bash", "--noprofile", "--norc"]
        async with cls.start(argv, directory, sandbox, writes_git=writes_git) as (process, pipes):
            bash = cls(sandbox, process, pipes)
        bash.directory = directory
        bash._send("shopt -s expand_aliases\n")
        return bash

    @override
    def _request(self, text: Path, output: Path) -> str:
        return _COMMAND_SCRIPT.format(
            before=f"(\\exit {self._last}) || " if self._last else "",
            text=shlex.quote(str(text)),
            output=shlex.quote(str(output)),
            number=self._number,
            status=self._pipes.status,
        )

    @override
    def _note_report(self, rest: str) -> None:
        if rest.startswith("/"):  # otherwise its folder was removed
            self.directory = Path(rest)


class Shell(TextRunner[BashProcess]):
    """The shell of one session.

    If bash has exited, the next command runs in a fresh one, in the directory of the old one after
    its last command.
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
        super().__init__(workspace, sandbox)
        self._writes_git = writes_git
        self.directory = directory or workspace.root
        """The directory of the next command."""

    @override
    async def _launch(self) -> BashProcess:
        return await BashProcess.launch(self.directory, self._sandbox, writes_git=self._writes_git)

    @override
    async def _note_end(self, interpreter: BashProcess) -> None:
        directory = await asyncio.to_thread(os.path.realpath, interpreter.directory)
        is_there = await asyncio.to_thread(os.access, directory, os.X_OK)
        self.directory = Path(directory) if is_there else self._workspace.root

    @override
    def _tidy(self, printed: str, text: Path) -> str:
        return _CRASH.sub(r"\1 ", printed.replace(str(text), "bash"))

    async def run_with_git(self, command: bytes, seconds: float) -> Ended:
        """Run a command in a shell of its own that may change repositories.

        It has this shell's directory and exported variables, and ends with the command.
        """
        exports = await self.run(b"export -p", _EXPORT_SECONDS)
        shell = Shell(self._workspace, self._sandbox, directory=self.directory, writes_git=True)
        try:
            before = exports.output.encode("utf-8", "surrogatepass")
            # some variables, such as those that are read-only, cannot be set
            return await shell.run(b"{\n%s\n} 2>/dev/null\n%s" % (before, command), seconds)
        finally:
            await shell.close()

    @override
    async def restart(self) -> None:
        """Kill everything the shell started; the next command runs in the root, in a fresh one."""
        await super().restart()
        self.directory = self._workspace.root
