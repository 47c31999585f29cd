"""The persistent shell, restarted when it exits, and the commands of a line for rules.

Deny rules are matched against everything that might be a command (`possible_commands`), allow rules
only against what plainly is one (`plain_commands`). So a line that hides a command in a
substitution, a redirection, a loop or an assignment is never covered by an allow rule.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from pathlib import Path

from typing_extensions import override

from manus.sandbox.sandbox import Sandbox
from manus.tools.interpreter import Ended, Interpreter, TextRunner
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

_BORDERS = re.compile(r"[;&|\n()`<>{}]+")
"""Where another command, or the name of a file, may begin."""
_ASSIGNMENTS = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)+")
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t]+)
    | (?P<discard>[12&]?>[ ]?(?:&[12]|/dev/null)(?=[\s;&|]|$))
    | (?P<separator>[;&|\n]+)
    | (?P<word>(?:
        '[^']*'
        | "[^"$`\\!]*"                  # in which the shell expands nothing
        | [^\s;&|'"$`\\<>(){}\#!\x00]+    # no expansion, redirection, group, comment
      )+)
    """,
    re.VERBOSE,
)
_KEYWORDS = frozenset(
    {
        *("case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if"),
        *("in", "select", "then", "time", "until", "while", "[["),
    }
)


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


def possible_commands(line: str) -> tuple[str, ...]:
    """Return all parts of a line that may be commands; quoted text is split as well."""
    stripped = (_ASSIGNMENTS.sub("", part.strip()) for part in _BORDERS.split(line))
    return tuple(" ".join(part.split()) for part in stripped if part.strip())


def plain_commands(line: str) -> tuple[str, ...] | None:
    """Return the commands in a line of simple commands, each with its words as typed.

    None if any part is not plainly a command and its arguments: an assignment before it, a
    redirection (except to `/dev/null` or `2>&1`), an expansion, a substitution, a loop, a comment.
    """
    commands: list[list[str]] = [[]]
    position = 0
    while position < len(line):
        token = _TOKEN.match(line, position)
        if token is None:
            return None
        if token["separator"]:
            commands.append([])
        elif token["word"]:
            commands[-1].append(token["word"])
        position = token.end()
    simple = [words for words in commands if words]
    if not all(_is_program(words[0]) for words in simple):
        return None
    return tuple(" ".join(words) for words in simple)


def _is_program(word: str) -> bool:
    return word not in _KEYWORDS and "=" not in word
