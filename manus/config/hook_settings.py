"""Hooks: the user's commands on events of a run, `[[hooks]]` in `manus.toml`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel, Field

HookEvent = Literal["PreToolUse", "PostToolUse", "Stop", "Notification"]


class HookSettings(BaseModel, frozen=True, extra="forbid"):
    """A command that an event starts, with a JSON object about the event on its stdin.

    Exit code 2 refuses a call (`PreToolUse`), or tells the model something about its result
    (`PostToolUse`): the command's output is the text.
    """

    event: HookEvent
    """`PreToolUse`, `PostToolUse`, `Stop` (the run has ended) or `Notification` (it asks)."""
    command: str = Field(min_length=1)
    """A command for the shell. With `sandbox = false`, a program and its arguments."""
    matcher: str = "*"
    """The tools that it is for: `bash`, `mcp_*`, `bash|python_execute`."""
    timeout: float = Field(60.0, gt=0, le=600)
    """Seconds."""
    sandbox: bool = True
    """Whether it runs in the sandbox of the run; `false` gives it the whole machine."""

    def applies(self, event: HookEvent, tool: str) -> bool:
        """Return whether the hook is for an event of a tool; a run's own events have no tool."""
        if event != self.event:
            return False
        patterns = self.matcher.split("|") if tool else ()
        return not patterns or any(fnmatchcase(tool, pattern.strip()) for pattern in patterns)
