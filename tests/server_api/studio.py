"""What a person who drives the server has: a client, a model, a workspace."""

from pathlib import Path
from typing import Any, cast

import psutil
from langgraph_sdk.client import LangGraphClient

from tests.helpers.processes import pid_outside, until
from tests.server import Scripted, ScriptedServer


class Studio:
    """Drives runs on a server with the SDK's client; their model is scripted."""

    def __init__(self, client: LangGraphClient, server: ScriptedServer, workspace: Path) -> None:
        self.client = client
        self.server = server
        self.workspace = workspace

    def context(self, **options: Any) -> dict[str, Any]:
        defaults = {"workspace": str(self.workspace), "base_url": self.server.base_url}
        return {**defaults, **options}

    async def thread(self) -> str:
        return str((await self.client.threads.create())["thread_id"])

    async def run(
        self,
        thread: str | None,
        *replies: Scripted,
        request: str = "Do it.",
        graph: str = "agent",
        **options: Any,
    ) -> dict[str, Any]:
        """Complete a run, or run to its question; return the state afterwards."""
        self.server.script(*replies)
        arguments = {"context": self.context(), "input": {"request": request}, **options}
        if "command" in options:
            del arguments["input"]
        return cast(dict[str, Any], await self.client.runs.wait(thread, graph, **arguments))

    async def begin(self, thread: str, *replies: Scripted, **options: Any) -> str:
        self.server.script(*replies)
        arguments = {"context": self.context(), "input": {"request": "Do it."}, **options}
        run = await self.client.runs.create(thread, "agent", **arguments)
        return str(run["run_id"])

    async def fork_everywhere(self, thread: str) -> list[str]:
        """Fork each checkpoint of a thread, unchanged and with a new message; return the new ids.

        All of these states can then be read back.
        """
        threads = self.client.threads
        edit = {"messages": [{"type": "human", "content": "And now?"}]}
        forks = []
        for state in await threads.get_history(thread, limit=100):
            await threads.update_state(thread, None, checkpoint=state["checkpoint"])
            forked = await threads.update_state(thread, edit, checkpoint=state["checkpoint"])
            forks.append(str(forked["checkpoint"]["checkpoint_id"]))
        states = await threads.get_history(thread, limit=500)
        each = [await threads.get_state(thread, checkpoint=s["checkpoint"]) for s in states]
        assert [state["values"] for state in states] == [state["values"] for state in each]
        return forks

    async def pid(self) -> int:
        """Return the process id that a process writes into the file `pid`."""
        file = self.workspace / "pid"
        await until(lambda: file.exists() and file.read_text().endswith("\n"))
        return pid_outside(file.read_text(), self.workspace)


def list_messages(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Return type and text of each message."""
    return [(message["type"], message["content"]) for message in values["messages"]]


def is_there(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
