"""The agent, its scripted model, and what a framework must be able to do with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from manus import build_agent
from manus.graph.run_graph import RunGraph
from tests.server import Request, ScriptedServer, call, calls

REQUEST = "Weigh the red parcel."
ANSWER = "The parcel weighs 740 g."
QUESTION = "Which parcel?"
SECOND = "And in ounces?"
SECOND_ANSWER = "About 26 ounces."
CHECKS = ("tool call", "stream", "interrupt", "second request")

Results = dict[str, str]
"""For each check `ok`, or what is wrong or missing."""


@tool
def weigh(parcel: str) -> str:
    """Weigh a parcel."""
    return f"{parcel}: 740 g"


class Scene:
    """An agent with a scripted model; each method scripts the model for one check."""

    def __init__(self) -> None:
        self.server = ScriptedServer()
        self.server.allow_unused()

    @property
    def model(self) -> ChatOpenAI:
        """Return a chat model on the scripted server."""
        options: dict[str, Any] = {"model": "scripted", "base_url": self.server.base_url}
        options["api_key"] = "none"
        return ChatOpenAI(**options, max_retries=0)

    def build(self, *, saves: bool = True, **options: Any) -> RunGraph[Any]:
        """Return the agent; `saves`: with a checkpointer."""
        tools = [weigh, "ask_human", "terminate"]
        saver = InMemorySaver() if saves else None
        prompt = "You weigh parcels."
        return build_agent(
            self.model, tools=tools, system_prompt=prompt, checkpointer=saver, **options
        )

    def weighs(self) -> None:
        """Script a tool call and the answer."""
        self.agent_says(call("weigh", parcel="red"))
        self.agent_says(call("terminate", status="success", answer=ANSWER))

    def asks(self) -> None:
        """Script a question to the user, and the answer."""
        self.agent_says(call("ask_human", inquire=QUESTION))
        self.agent_says(call("terminate", status="success", answer=ANSWER))

    def converts(self) -> None:
        """Script the answer to the second request."""
        self.agent_says(calls(call("terminate", status="success", answer=SECOND_ANSWER)))

    def agent_says(self, reply: Any) -> None:
        """Script a reply of the agent's model."""
        self.server.when(_is_from_agent, reply)

    def lead_says(self, *replies: Any) -> None:
        """Script replies of the model of an agent that leads or calls this one."""
        self.server.when(lambda request: not _is_from_agent(request), *replies)

    def count_answer(self) -> int:
        """Return how often the agent's last request contains the answer to the first."""
        request = next(r for r in reversed(self.server.requests) if _is_from_agent(r))
        return str(request.messages).count(ANSWER)


def _is_from_agent(request: Request) -> bool:
    return "You weigh parcels." in str(request.messages[0]["content"])


async def check(name: str, results: Results, run: Callable[[], Awaitable[str]]) -> None:
    """Run one check and record what it returns: an empty string if it went well."""
    try:
        results[name] = await run() or "ok"
    except Exception as error:  # noqa: BLE001 - other people's code runs here
        results[name] = f"{type(error).__name__}: {str(error).splitlines()[:1]}"


def expect(actual: str, expected: str) -> str:
    """Return an empty string, or what is wrong."""
    return "" if expected in actual else f"{actual!r} instead of {expected!r}"


__all__ = ["ANSWER", "CHECKS", "QUESTION", "REQUEST", "SECOND", "SECOND_ANSWER", "Results", "Scene"]
__all__ += ["check", "expect", "weigh"]
