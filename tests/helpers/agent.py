"""An agent on a scripted model server, with helpers for tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from manus.config.context import Context
from manus.config.profile import Profile
from manus.graph import build_agent
from manus.graph.outcome import Outcome, build_outcome
from manus.graph.run_graph import RunGraph
from manus.state.messages import call_ids
from tests.helpers import tools
from tests.server import Scripted, ScriptedServer

TESTER = Profile(
    name="tester",
    description="An agent for tests.",
    tools=tools.ALL,
    system_prompt="You work in $workspace.",
    next_step_prompt="What next?",
)


CONSULTER = replace(TESTER, name="consulter", tools=(*tools.ALL, tools.Consult))
"""Like the tester, with a tool that calls a model."""

DELEGATOR = replace(TESTER, name="delegator", tools=(*tools.ALL, "delegate"))
"""Like the tester, with other agents to delegate to."""


class ScriptedAgent:
    """An agent whose model is a scripted server; its threads live in a real SQLite file."""

    def __init__(
        self,
        server: ScriptedServer,
        workspace: Path,
        saver: BaseCheckpointSaver[Any],
        profile: Profile = TESTER,
        url: str = "",
    ) -> None:
        self.server = server
        self.address = url or str(workspace.parent / "threads.sqlite")
        self.workspace = workspace
        self.saver = saver
        self.graph: RunGraph = build_agent(profile, checkpointer=saver)

    @property
    def journals(self) -> Path:
        """Return the folder of the journals, next to the file of the threads."""
        folder: Path = self.saver.records.folder  # type: ignore[attr-defined]
        return folder

    def context(self, **settings: Any) -> Context:
        """Return the context of a run on the server, with the test's settings."""
        defaults = {
            "workspace": str(self.workspace),
            "model": "scripted",
            "base_url": self.server.base_url,
            "conversation": True,  # a text ends the run
        }
        return Context(**{**defaults, **settings})

    async def run(
        self, *replies: Scripted, request: Any = "Do it.", thread: str = "t", **settings: Any
    ) -> Outcome:
        """Run a request, with the model's replies to it."""
        return await self.invoke({"request": request}, *replies, thread=thread, **settings)

    async def invoke(
        self,
        inputs: Any,
        *replies: Scripted,
        thread: str = "t",
        run_id: str | None = None,
        **settings: Any,
    ) -> Outcome:
        """Invoke the graph with any input: a `Command`, None to resume, a dict."""
        self.server.script(*replies)
        config = thread_config(thread, run_id)
        await self.graph.ainvoke(inputs, config, context=self.context(**settings))
        return await self.outcome(thread)

    async def events(self, *replies: Scripted, **options: Any) -> list[dict[str, Any]]:
        return await self.parts("custom", *replies, **options)

    async def watched(self, *replies: Scripted, **options: Any) -> list[AIMessageChunk]:
        """Return the chunks of the model's text that a consumer of the stream receives."""
        parts = await self.parts("messages", *replies, **options)
        return [message for message, _ in parts if isinstance(message, AIMessageChunk)]

    async def parts(
        self,
        mode: Any,
        *replies: Scripted,
        request: str = "Do it.",
        thread: str = "t",
        **settings: Any,
    ) -> list[Any]:
        """Return everything that a run streams in a mode, or in several."""
        self.server.script(*replies)
        context = self.context(**settings)
        stream: Any = self.graph.astream(
            {"request": request}, thread_config(thread), context=context, stream_mode=mode
        )
        return [part async for part in stream]

    async def outcome(self, thread: str = "t") -> Outcome:
        return build_outcome(await self.graph.aget_state(thread_config(thread)))

    async def values(self, thread: str = "t") -> dict[str, Any]:
        snapshot = await self.graph.aget_state(thread_config(thread))
        values: dict[str, Any] = snapshot.values
        return values

    async def messages(self, thread: str = "t") -> list[AnyMessage]:
        result: list[AnyMessage] = (await self.values(thread)).get("messages", [])
        return result

    async def observations(self, thread: str = "t") -> list[str]:
        return [str(m.text) for m in await self.messages(thread) if isinstance(m, ToolMessage)]

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file in the workspace; empty if there is no such file."""
        file = self.workspace / path
        return file.read_text().splitlines() if file.exists() else []


def thread_config(thread: str, run_id: str | None = None) -> RunnableConfig:
    """Return the configuration of a thread, with the id that a server gives to a run."""
    run = {"run_id": run_id} if run_id else {}
    return {"configurable": {"thread_id": thread, **run}}


def assert_paired(history: list[AnyMessage]) -> None:
    """Assert that each call has exactly one tool message, right after its message, in order."""
    waiting: list[str] = []
    for message in history:
        if isinstance(message, ToolMessage):
            assert waiting[:1] == [message.tool_call_id]
            waiting = waiting[1:]
        else:
            assert not waiting
            waiting = call_ids(message) if isinstance(message, AIMessage) else []
    assert not waiting
