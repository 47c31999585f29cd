"""`bash`: one persistent shell per session."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Approval, Arguments
from manus.calls.result import Observation
from manus.calls.session import get_sandbox
from manus.prompts.approval import sets_git_config
from manus.prompts.sources import COMMAND
from manus.sandbox.failure_notes import describe_git
from manus.sandbox.git_config import ConfigChange, plan_change
from manus.sandbox.process import exit_state
from manus.state.errors import ToolError
from manus.state.text import one_line
from manus.tools.interpreter import Ended
from manus.tools.shell import Shell, plain_commands, possible_commands
from manus.workspace.workspace import WORKSPACE

BASH = "bash"
_MAX_TIMEOUT = 3600.0
_MAX_DIRECTORY = 200
"""Maximum number of characters shown of the shell's directory."""
_RESTARTED = "[fresh shell in the workspace; the old one and its jobs were killed]"
_FRESH = (
    "[the shell exited after the last command: this one ran in a fresh shell, without the "
    "variables, functions and options set before]"
)
_EXITED = (
    "[{how}; the shell itself exited, so variables, functions and options are lost; the next "
    "command gets a fresh shell in {where}]"
)
_SET = "\n[set in the configuration of the repository: {lines}]"
_STOPPED = (
    "[stopped: timed out after {seconds:g} s; the command and all background jobs were killed, "
    "variables, functions and options are lost, and the next command gets a fresh shell in "
    "{where}. For longer work set a larger `timeout`, or start it in the background "
    "(`nohup COMMAND > out.log 2>&1 &`) and check its log later]"
)


class BashArgs(Arguments):
    """Arguments of `bash`."""

    command: str | None = Field(
        None, description="One line or several; optional only with `restart`"
    )
    timeout: float = Field(
        120.0,
        gt=0,
        le=_MAX_TIMEOUT,
        description="Seconds until the command and all jobs of the shell are stopped",
    )
    restart: bool = Field(False, description="Start a fresh shell first, which ends all jobs")
    writes_git: bool = Field(
        False,
        description="Needed to change a repository (commit, stash, rebase, push); runs in a shell "
        "of its own",
    )
    git_config: dict[str, str | None] | None = Field(
        None,
        description="Entries to set first in `.git/config`, which commands cannot change: remotes, "
        "upstream branches",
    )


class Bash(AgentTool):
    """The persistent shell."""

    name: str = BASH
    description: str = (
        "Run commands in a bash shell that keeps its directory, variables and background jobs "
        "until the run ends; each user request starts with a fresh shell in the workspace. "
        "Returns stdout and stderr in order, and the exit code. stdin is empty: use options such "
        "as `-y`. Start servers and long work with `&` and redirect their output to a file, since "
        "later output is not shown."
    )
    args_schema: type[BaseModel] = BashArgs
    uses: ClassVar[str] = WORKSPACE  # a command may change any file
    starts_programs: ClassVar[bool] = True
    time_limit: ClassVar[float] = _MAX_TIMEOUT + 120

    @override
    def approval(self, args: dict[str, Any]) -> Approval:
        command = str(args.get("command") or "")
        return Approval(
            self._explain_git_config(args.get("git_config")),
            possible_commands(command),
            plain_commands(command),
            changes_repository=bool(args.get("writes_git") or args.get("git_config")),
        )

    def _explain_git_config(self, settings: dict[str, str | None] | None) -> str:
        if not settings:
            return ""
        try:
            change = self._plan_change(settings)
        except ToolError:  # the call itself will report it
            return ""
        return "" if change.is_ordinary else sets_git_config(change.lines)

    def _plan_change(self, settings: dict[str, str | None]) -> ConfigChange:
        """Return the change of the repository's configuration. Blocking."""
        root = self.session.workspace.root
        shell = self.session.peek("shell")
        return plan_change(root, shell.directory if shell is not None else root, settings)

    @override
    async def observe(self, **arguments: Any) -> Observation:
        request = BashArgs.model_construct(**arguments)
        if request.command is None and not (request.restart or request.git_config):
            raise ToolError(
                "`command` is missing; give the command to execute, or `restart`: true."
            )
        shell = await self.session.obtain("shell", self._open)
        if request.restart:
            await shell.restart()
        sandbox = await get_sandbox(self.session)
        before = _RESTARTED if request.restart else ""
        if request.git_config:
            change = await asyncio.to_thread(self._plan_change, request.git_config)
            await asyncio.to_thread(sandbox.set_git_config, change)
            before += _SET.format(lines=", ".join(change.lines) or "nothing new")
        if request.command is None:
            return Observation(before.lstrip())
        mark = sandbox.mark
        text = request.command.encode("utf-8", "surrogatepass")  # bash reports invalid characters
        run = shell.run_with_git if request.writes_git else shell.run
        async with sandbox.programs.looking() as notes:
            outcome = await run(text, request.timeout)
        directory = self.session.workspace.show(shell.directory)
        output = _describe(outcome, directory, request.timeout)
        output += sandbox.describe_failures(mark, outcome.output)
        if sandbox.guards_repository:
            is_failure = outcome.status != 0
            output += describe_git(
                request.command, outcome.output, is_failure=is_failure, writes=request.writes_git
            )
        output += "".join(notes)
        output = f"{before}\n{output}".lstrip() if before else output
        return Observation(
            output,
            is_error=outcome.status != 0,
            is_exit_code=outcome.status is not None,
            source=COMMAND,
            output=outcome.output,
        )

    async def _open(self) -> Shell:
        return Shell(self.session.workspace, await get_sandbox(self.session))


def _describe(outcome: Ended, directory: str, seconds: float) -> str:
    """Describe the output of a command, and how it ended."""
    parts = [_FRESH] if outcome.fresh else []
    if outcome.output:
        parts.append(outcome.output.removesuffix("\n"))
    directory = one_line(directory, _MAX_DIRECTORY)
    is_root = directory == "."
    fresh_directory = "the workspace" if is_root else f"`{directory}`"
    if outcome.status is None:
        parts.append(_STOPPED.format(seconds=seconds, where=fresh_directory))
    elif outcome.exited:
        parts.append(_EXITED.format(how=exit_state(outcome.status), where=fresh_directory))
    else:
        silent = "" if outcome.output else ", no output"
        place = "" if is_root else f", in {directory}"
        parts.append(f"[{exit_state(outcome.status)}{silent}{place}]")
    return "\n".join(parts)
