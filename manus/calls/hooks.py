"""Run the user's hooks on the events of a run."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from manus.calls.approval import Call
from manus.calls.invoke import refusal
from manus.calls.result import Observation
from manus.calls.session import Session, get_sandbox
from manus.config.safety_settings import HookEvent, HookSettings
from manus.prompts import approval as prompts
from manus.sandbox.host_programs import find_host_path, find_host_program
from manus.sandbox.process import ProcessResult, run
from manus.state.errors import ToolUnavailableError
from manus.state.text import one_line
from manus.workspace.workspace import Workspace

log = logging.getLogger("manus")

_OBJECTS = 2
"""The exit code with which a hook objects."""
_MAX_REASON = 4_000


def has_hooks(session: Session) -> bool:
    """Return whether the settings of a run name any hook."""
    return bool(session.settings.hooks)


async def run_hooks(session: Session, event: HookEvent, tool: str = "", **fields: Any) -> str:
    """Run the hooks for an event; return the objections, empty without any.

    A hook that cannot be started, or fails in another way, is logged and changes nothing.
    """
    objections = []
    facts = {"hook_event_name": event, "cwd": str(session.workspace.root), **fields}
    if tool:
        facts["tool_name"] = tool
    for hook in session.settings.hooks:
        if not hook.applies(event, tool):
            continue
        try:
            result = await _run_hook(session, hook, facts)
        except ToolUnavailableError as error:
            log.warning("The hook `%s` did not run: %s", hook.command, error)
            continue
        text = result.output.strip()
        if result.returncode == _OBJECTS:
            objections.append(text[:_MAX_REASON] or f"The hook `{hook.command}` objects.")
        elif result.returncode != 0:
            end = "timed out" if result.returncode is None else f"exit code {result.returncode}"
            log.warning("The hook `%s` failed (%s): %s", hook.command, end, one_line(text, 200))
    return "\n".join(objections)


async def observe_with_hooks(
    call: Call, observe: Callable[[], Awaitable[Observation]]
) -> Observation:
    """Execute a call unless a hook objects; add what the hooks say about its result."""
    facts: dict[str, Any] = {"tool_input": call.args}
    if call.config is not None:
        facts["session_id"] = call.config.get("configurable", {}).get("thread_id", "")
    name = call.tool.name
    if objection := await run_hooks(call.session, "PreToolUse", name, **facts):
        return refusal(prompts.objected(objection))
    observation = await observe()
    facts["tool_response"] = observation.text
    if note := await run_hooks(call.session, "PostToolUse", name, **facts):
        return replace(observation, text=f"{observation.text}\n{prompts.noted(note)}")
    return observation


async def run_end_hooks(session: Session, config: Any, *, is_inside: bool) -> None:
    """Run the hooks for the end of a run, or for its question to a person."""
    if is_inside or not has_hooks(session):
        return
    thread = config.get("configurable", {}).get("thread_id", "")
    await run_hooks(session, "Notification" if session.waiting else "Stop", session_id=thread)


async def _run_hook(
    session: Session, hook: HookSettings, facts: Mapping[str, Any]
) -> ProcessResult:
    stdin = os.memfd_create("hook")
    try:
        os.write(stdin, json.dumps(facts, default=str).encode())
        os.lseek(stdin, 0, os.SEEK_SET)
        workspace = session.workspace
        if not hook.sandbox:
            argv = await asyncio.to_thread(_host_command, hook.command, workspace)
            extra = {"PATH": await asyncio.to_thread(find_host_path)}
            return await run(
                argv, workspace=workspace, seconds=hook.timeout, stdin=stdin, extra=extra
            )
        sandbox = await get_sandbox(session)
        async with sandbox.programs.looking():
            return await run(
                ["sh", "-c", hook.command],
                workspace=workspace,
                seconds=hook.timeout,
                stdin=stdin,
                sandbox=sandbox,
            )
    finally:
        os.close(stdin)


def _host_command(command: str, workspace: Workspace) -> list[str]:
    """Return the words of a command that runs outside of the sandbox. Blocking.

    Raises:
        ToolUnavailableError: it is not found, or names a file that programs of a run can write.
    """
    program, *arguments = shlex.split(command)
    found = find_host_program(program)
    if found is None:
        raise ToolUnavailableError(f"`{program}` is not on the PATH outside of all workspaces.")
    for word in (found, *arguments):
        path = workspace.root / word
        if path.exists() and path.resolve().is_relative_to(workspace.root):
            raise ToolUnavailableError(
                f"Programs of the run can change {word}, so it does not run outside of the "
                "sandbox; move it out of the workspace, or remove `sandbox = false`."
            )
    return [found, *arguments]
