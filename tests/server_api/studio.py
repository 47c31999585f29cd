"""What a person has who drives the server: a client, a model, a workspace."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from langgraph_sdk.client import LangGraphClient

from tests.helpers.processes import pid_outside
from tests.server import Scripted, ScriptedServer

_LIMIT = 90.0
"""Seconds after which something that should have happened is given up."""


class Studio:
    """Drives runs on a server; their model is scripted.

    Attributes:
        client: The SDK's client.
        server: The model.
        workspace: The workspace of the runs.
    """

    def __init__(self, client: LangGraphClient, server: ScriptedServer, workspace: Path) -> None:
        self.client = client
        self.server = server
        self.workspace = workspace

    def context(self, **chosen: Any) -> dict[str, Any]:
        """The context of a run, with what the test chooses."""
        given = {"workspace": str(self.workspace), "base_url": self.server.base_url}
        return {**given, **chosen}

    async def assistant(self, graph: str) -> str:
        """The id of the assistant that a graph has from the beginning."""
        [found] = await self.client.assistants.search(graph_id=graph)
        return str(found["assistant_id"])

    async def thread(self) -> str:
        """A new thread."""
        return str((await self.client.threads.create())["thread_id"])

    async def run(
        self,
        thread: str | None,
        *replies: Scripted,
        request: str = "Do it.",
        graph: str = "agent",
        **options: Any,
    ) -> dict[str, Any]:
        """A run to its end, or to its question; the state after it."""
        self.server.script(*replies)
        given = {"context": self.context(), "input": {"request": request}, **options}
        if "command" in options:
            del given["input"]
        found: Any = await self.client.runs.wait(thread, graph, **given)
        assert isinstance(found, dict)
        return found

    async def begin(self, thread: str, *replies: Scripted, **options: Any) -> str:
        """Begin a run in the background; its id."""
        self.server.script(*replies)
        given = {"context": self.context(), "input": {"request": "Do it."}, **options}
        run = await self.client.runs.create(thread, "agent", **given)
        return str(run["run_id"])

    async def values(self, thread: str) -> dict[str, Any]:
        """The state of a thread."""
        found: Any = (await self.client.threads.get_state(thread))["values"]
        assert isinstance(found, dict)
        return found

    async def pid(self) -> int:
        """The number of the process that writes its own into the file `pid`."""
        file = self.workspace / "pid"
        await until(lambda: file.exists() and file.read_text().endswith("\n"))
        return pid_outside(file.read_text(), self.workspace)


def said(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Type and text of each message."""
    return [(message["type"], message["content"]) for message in values["messages"]]


def is_there(pid: int) -> bool:
    """Whether a process lives."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds that another process brings about."""
    limit = time.monotonic() + _LIMIT
    while not holds():
        assert time.monotonic() < limit, "it did not happen"
        await asyncio.sleep(0.02)
