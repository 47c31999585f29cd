"""A flow on a scripted model server, with helpers for tests."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from manus.config.profile import Profile
from manus.graph import build_flow
from manus.state.plan import Plan
from tests.helpers.agent import TESTER, ScriptedAgent
from tests.server import Call, Queue, Request, Scripted, ScriptedServer, call, calls, mentions
from tests.server.replies import Message

SECOND = Profile(
    name="second",
    description="Another agent for tests.",
    tools=TESTER.tools,
    system_prompt="You are the second one, in $workspace.",
    next_step_prompt="What next?",
)


class ScriptedFlow(ScriptedAgent):
    """A flow whose planner, executors and summarizer each have a script."""

    def __init__(
        self,
        server: ScriptedServer,
        workspace: Path,
        saver: BaseCheckpointSaver[Any] | None,
        executors: Sequence[str | Profile] = (TESTER,),
    ) -> None:
        self.server = server
        self.address = str(workspace.parent / "threads.sqlite")
        self.workspace = workspace
        self.saver = saver  # type: ignore[assignment]
        self.graph = build_flow(executors, checkpointer=saver)

    def plans(self, *replies: Scripted) -> Queue:
        """Script the planner's replies."""
        return self.server.when(is_planner, *replies)

    def step(self, words: str, *replies: Scripted) -> Queue:
        """Script replies for the executor of the step with this text."""
        return self.server.when(is_step(words), *replies)

    def sums_up(self, *replies: Scripted) -> Queue:
        """Script the summarizer's replies."""
        return self.server.when(is_summary, *replies)

    async def plan(self, thread: str = "t") -> Plan:
        """Return the plan of a thread."""
        plan: Plan = (await self.values(thread))["plan"]
        return plan

    async def statuses(self, thread: str = "t") -> list[str]:
        """Return the statuses of its steps."""
        return [step["status"] for step in (await self.plan(thread))["steps"]]

    def requests_for(self, matches: Any) -> list[Request]:
        """Return the requests that match."""
        return [request for request in self.server.requests if matches(request)]


is_planner = mentions("You plan work that others carry out")
is_summary = mentions("You summarize finished work")


def is_step(words: str) -> Any:
    """Return a predicate for requests of the executor of the step with this text."""

    def matches(request: Request) -> bool:
        messages = [str(m["content"]) for m in request.messages if m["role"] == "user"]
        steps = (re.search(r"Your step is number \d+: (.*)", s) for s in messages)
        return any(step is not None and words in step[1] for step in steps)

    return matches


def makes(*steps: Any, **options: Any) -> Call:
    """Return a reply with which the planner creates a plan."""
    return call(
        "planning",
        {"command": "create", "plan_id": "p", "title": "Trip", **options, "steps": list(steps)},
    )


def revises(*steps: Any, **options: Any) -> Call:
    """Return a reply with which the planner revises the plan."""
    return call("planning", {"command": "update", **options, "steps": list(steps)})


def succeeds(answer: str = "Done.") -> Message:
    """Return a reply that completes the step."""
    return calls(call("terminate", status="success"), text=answer)


def gives_up(answer: str = "Impossible.") -> Message:
    """Return a reply that reports the step as impossible."""
    return calls(call("terminate", status="failure"), text=answer)


def free(step: str, *depends_on: int) -> dict[str, Any]:
    """Return a step that depends on exactly these steps."""
    return {"text": step, "depends_on": list(depends_on)}
