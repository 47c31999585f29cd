"""The tool that appends a number to the file of a run, and the agent's profile.

It pauses before and after each effect; a failure of the instance then leaves the call in doubt.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Observation
from manus.calls.session import Resource
from manus.config.profile import Profile

EFFECTS = "SERVED_EFFECTS"
"""Environment variable with the folder of the files."""
PAUSE = "SERVED_PAUSE"
"""Environment variable with the seconds before and after each effect."""


async def append_line(run: str, number: int) -> str:
    """Append a number, this process and the time to the file of a run."""
    pause = float(os.environ.get(PAUSE, "0.3"))
    await asyncio.sleep(pause)
    with (Path(os.environ[EFFECTS]) / run).open("a") as file:
        file.write(f"{number} {os.getpid()} {time.monotonic()}\n")
    await asyncio.sleep(pause)
    return f"Appended {number}."


class AppendArgs(Arguments):
    """Arguments of `append`."""

    run: str = Field(description="Name of the run")
    number: int = Field(description="Number to append")


class Append(AgentTool):
    """Append a number."""

    name: str = "append"
    description: str = "Append a number to the file of a run."
    args_schema: type[BaseModel] = AppendArgs

    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        return frozenset()

    async def observe(self, run: str, number: int, **_: Any) -> Observation:
        return Observation(await append_line(run, number))


PROFILE = Profile(
    name="appender",
    description="Appends numbers.",
    tools=(Append, "ask_human", "terminate"),
    system_prompt="You append numbers.",
    next_step_prompt="Append the next number.",
    max_steps=1000,
)
