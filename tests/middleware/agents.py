"""Agents of LangChain and deepagents, whose model derives its next call from the conversation."""

import asyncio
import importlib
import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command, interrupt

from manus.middleware import EffectJournal

Call = tuple[str, dict[str, Any]]
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Planned(BaseChatModel):
    """Makes the calls of its plan, one after the other, and then reports that it is done."""

    plan: list[list[Call]]
    numbers_calls: bool = False
    """Whether the ids start again in each message, as those of some local servers."""

    @property
    def _llm_type(self) -> str:
        return "planned"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        step = sum(isinstance(message, AIMessage) for message in messages)
        reply = AIMessage("Done.")
        if step < len(self.plan):
            calls: list[Any] = [
                {"name": name, "args": args, "id": self._call_id(position)}
                for position, (name, args) in enumerate(self.plan[step])
            ]
            reply = AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _call_id(self, position: int) -> str:
        return f"call_{position}" if self.numbers_calls else os.urandom(4).hex()


class KillsAt(AgentMiddleware):
    """Kills the process before or after a tool call, outside the journal."""

    def __init__(self, name: str, moment: str) -> None:
        self.tools = []
        self.at = (name, moment)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        self._kill(request, "before")
        result = handler(request)
        self._kill(request, "after")
        return result

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        self._kill(request, "before")
        result = await handler(request)
        self._kill(request, "after")
        return result

    def _kill(self, request: Any, moment: str) -> None:
        if (request.tool_call["name"], moment) == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


class Waits(AgentMiddleware):
    """Delays each tool call, outside the journal, until another process has released it."""

    def __init__(self, folder: Path) -> None:
        self.tools = []
        self._folder = folder

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        (self._folder / "began").touch()
        while not (self._folder / "release").exists():
            time.sleep(0.01)
        return handler(request)


def make_tools(folder: Path) -> list[BaseTool]:
    def write(name: str) -> None:
        with (folder / "effects").open("a") as file:
            file.write(f"{name}\n")

    def append(line: str) -> str:
        """Append a line."""
        write(line)
        return f"Appended {line}."

    def hold(line: str) -> str:
        """Append a line and wait."""
        write(line)
        while not (folder / "release").exists():
            time.sleep(0.01)
        return "Released."

    def fail(line: str) -> str:
        """Append a line and raise, once."""
        write(line)
        if not (folder / "release").exists():
            raise RuntimeError("It failed.")
        return "It worked."

    def ask(question: str) -> str:
        """Ask a person."""
        answer = interrupt(question)
        write(str(answer))
        return f"They said {answer}."

    @tool
    def note(line: str, call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Append a line, and add a message to the conversation."""
        write(line)
        answer = ToolMessage("Noted.", tool_call_id=call_id, name="note")
        return Command(update={"messages": [answer, HumanMessage("A note.")]})

    functions = [append, hold, fail, ask]
    return [*(StructuredTool.from_function(function) for function in functions), note]


def make_task(agent: Any) -> BaseTool:
    request = {"messages": [("user", "Work.")]}

    def task(description: str, subagent_type: str) -> str:
        """Run another agent."""
        return str(agent.invoke(request)["messages"][-1].content)

    async def atask(description: str, subagent_type: str) -> str:
        return str((await agent.ainvoke(request))["messages"][-1].content)

    return StructuredTool.from_function(task, atask)


@dataclass(frozen=True)
class Setup:
    """How an agent is built and run; it is sent to other processes."""

    folder: Path
    plan: Sequence[Sequence[Call]]
    library: str = "create_agent"
    is_async: bool = False
    durability: Any = "sync"
    url: str = ""
    has_journal: bool = True
    read_only: tuple[str, ...] = ()
    kills_at: tuple[str, str] | None = None
    numbers_calls: bool = False
    waits: bool = False
    subtask: Sequence[Sequence[Call]] = ()
    """The plan of the agent that the tool `task` runs."""

    @property
    def database(self) -> str:
        return str(self.folder / "threads.sqlite")

    def build(self, saver: Any) -> Any:
        middleware: list[Any] = []
        if self.kills_at is not None:
            middleware.append(KillsAt(*self.kills_at))
        if self.waits:
            middleware.append(Waits(self.folder))
        if self.has_journal:
            store = None if self.url else self.database
            journal = EffectJournal(store, read_only=self.read_only, subagents=["task"])
            middleware.append(journal)
        options: Any = {"middleware": middleware, "checkpointer": saver}
        model, tools = self._model(self.plan), make_tools(self.folder)
        if self.library == "create_agent":
            inner = create_agent(self._model(self.subtask), tools, middleware=middleware)
            return create_agent(model, [*tools, make_task(inner)], **options)
        if self.subtask:
            worker = {"name": "worker", "description": "Works.", "system_prompt": "Work."}
            agent = {"model": self._model(self.subtask), "tools": tools, "middleware": middleware}
            options["subagents"] = [{**worker, **agent}]
        library = importlib.import_module("deepagents")
        return library.create_deep_agent(model=model, tools=tools, **options)

    def _model(self, plan: Sequence[Sequence[Call]]) -> Planned:
        return Planned(plan=[list(step) for step in plan], numbers_calls=self.numbers_calls)

    def run(self, start: Any, config: Any = CONFIG) -> dict[str, Any]:
        """Run the agent in this process, and return its state."""
        if self.is_async or self.url:
            return asyncio.run(self.arun(start))
        with SqliteSaver.from_conn_string(self.database) as saver:
            state: dict[str, Any] = self.build(saver).invoke(
                start, config, durability=self.durability
            )
            return state

    async def arun(self, start: Any) -> dict[str, Any]:
        store: Any = AsyncSqliteSaver.from_conn_string(self.database)
        if self.url:
            store = AsyncPostgresSaver.from_conn_string(self.url)
        async with store as saver:
            if self.url:
                await saver.setup()
            state: dict[str, Any] = await self.build(saver).ainvoke(
                start, CONFIG, durability=self.durability
            )
            return state

    def effects(self) -> list[str]:
        path = self.folder / "effects"
        return path.read_text().split() if path.exists() else []


def observations(state: dict[str, Any]) -> list[str]:
    return [str(m.content) for m in state["messages"] if isinstance(m, ToolMessage)]
