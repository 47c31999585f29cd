"""Let LangChain's middleware wrap a tool call: change, repeat, replace or answer it.

Each execution goes through approval and journal, so an effect that a middleware repeats is
journaled once per attempt, and a resume repeats none of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from manus.calls.result import Observation, ToolResult, as_observation
from manus.calls.session import Session
from manus.state.agent import ToolTask
from manus.state.messages import FAILED

if TYPE_CHECKING:
    from manus.calls.catalog import Catalog

Answer = ToolMessage | Command[Any]
Handler = Callable[[ToolCallRequest], Awaitable[Answer]]

ATTEMPT = "#"
"""Separates a journal key from the number of the attempt, from the second attempt on."""


class ToolCallWrapper(Protocol):
    """The composed `wrap_tool_call` of all middleware."""

    async def __call__(self, request: ToolCallRequest, handler: Handler) -> Answer:
        """Return the answer of a call; `handler` executes it."""


class Execute(Protocol):
    """A function that executes one attempt of a call under its journal key."""

    async def __call__(
        self,
        task: ToolTask,
        tool: BaseTool | None,
        session: Session,
        catalog: Catalog,
        key: str,
        config: RunnableConfig | None,
    ) -> ToolResult:
        """Return the result of the attempt."""


@dataclass(slots=True)
class WrappedCall:
    """One call, with the results of its executions so far."""

    task: ToolTask
    session: Session
    catalog: Catalog
    key: str
    config: RunnableConfig
    execute: Execute
    to_result: Callable[[ToolTask, Observation, Session, str], Awaitable[ToolResult]]
    attempts: int = 0
    results: list[tuple[object, ToolResult]] = field(default_factory=list)
    """Each execution's returned answer or raised error, and its result."""

    async def run(self, wrapper: ToolCallWrapper, tool: BaseTool | None) -> ToolResult:
        """Return the result of the call after the middleware.

        An exception of the tool that the middleware does not catch is reported to the model.

        Raises:
            Exception: any exception of the middleware itself.
        """
        answers: list[Answer] = []

        async def answer(request: ToolCallRequest, _: Any) -> ToolMessage:
            answers.append(await wrapper(request, self._handle))
            return ToolMessage("", tool_call_id=self.task["id"])

        # LangGraph's node builds the request, with the state, the store, the runtime and all tools
        node = ToolNode([*self.catalog], handle_tool_errors=False, awrap_tool_call=answer)
        name = self.task["name"] if tool is None else tool.name
        call = {"type": "tool_call", "id": self.task["id"], "name": name}
        try:
            await node.ainvoke([{**call, "args": self.task["args"]}], self.config)
        except GraphBubbleUp:
            raise
        except Exception as error:
            result = self._find(error)
            if result is None:  # the middleware's own
                raise
            return result
        return await self._convert(answers[0])

    async def _handle(self, request: ToolCallRequest) -> Answer:
        """Execute the call of a request.

        Raises:
            Exception: any exception of the tool, so that a middleware can retry the call.
        """
        call = request.tool_call
        task: Any = {**self.task, "name": call["name"], "args": call["args"]}
        key = self._next_key()
        result = await self.execute(
            task, request.tool, self.session, self.catalog, key, self.config
        )
        result.message.id = self.key  # not that of the attempt
        error = result.observation.error
        answer = _as_answer(result)
        self.results.append((error or answer, result))
        if error is not None:
            raise error
        return answer

    def _next_key(self) -> str:
        """Return the journal key of the next attempt, or, on a resume, of the last failed one."""
        self.attempts += 1
        while self._has_failed(self.attempts) and self._is_recorded(self.attempts + 1):
            self.attempts += 1
        return self._key(self.attempts)

    def _key(self, attempt: int) -> str:
        return self.key if attempt == 1 else f"{self.key}{ATTEMPT}{attempt}"

    def _is_recorded(self, attempt: int) -> bool:
        return self.session.journal.look_up(self._key(attempt)) is not None

    def _has_failed(self, attempt: int) -> bool:
        entry = self.session.journal.look_up(self._key(attempt))
        if entry is None or entry.message is None:
            return False
        return FAILED in entry.message.get("additional_kwargs", {})

    def _find(self, outcome: object) -> ToolResult | None:
        """Return the result for what an execution has returned or raised."""
        for earlier, result in self.results:
            if earlier is outcome:
                return result
        return None

    async def _convert(self, answer: Answer) -> ToolResult:
        """Return the result of the call, which may be the middleware's own."""
        result = self._find(answer)
        if result is not None:
            return result
        observation = replace(as_observation(answer, self.task["id"]), executed=False)
        executed = [earlier for _, earlier in self.results if earlier.observation.executed]
        if executed:
            source = executed[-1].observation.source
            observation = replace(observation, executed=True, source=source)
        result = await self.to_result(self.task, observation, self.session, self.key)
        if isinstance(answer, ToolMessage) and answer.name:
            result.message.name = answer.name
        approved: tuple[str, ...] = ()
        for _, earlier in self.results:
            approved += earlier.approved
        return replace(result, approved=approved)


def _as_answer(result: ToolResult) -> Answer:
    """Return a result in the form that a tool node returns."""
    observation = result.observation
    if observation.handoff is not None:
        return observation.handoff
    if not (observation.update or observation.preceding or observation.following):
        return result.message
    messages = [*observation.preceding, result.message, *observation.following]
    return Command(update={**observation.update, "messages": messages})
