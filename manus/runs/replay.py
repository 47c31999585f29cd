"""Run a stored thread again against its recorded replies, and find the first step that differs.

No model is called. Each request is compared with the recorded conversation and answered with the
recorded reply. The present tools execute the calls in a copy of the workspace as it was before the
first step. A call has its recorded result instead if it acted outside the workspace, or would ask a
person, another agent or the web.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest

from manus.calls.base import AgentTool
from manus.calls.wrapped_call import Answer, Handler, ToolCallWrapper
from manus.config.context import Context
from manus.graph.outcome import Outcome
from manus.graph.run_graph import RunGraph
from manus.models.client import Reply
from manus.models.recording import Turn, decode_reply, encode_reply, normalize_message
from manus.nodes.loop_detection import hide_noise
from manus.nodes.wrapping import AgentOptions, ModelAnswer, ModelStep
from manus.runs.jobs import Job, run_job
from manus.runs.messages import send
from manus.runs.time_travel import find_first_snapshot, open_snapshots, write_snapshot
from manus.state.endings import get_ending
from manus.state.errors import ReplayMismatchError, UsageError
from manus.state.history import without_closings
from manus.state.messages import DESCRIPTION, call_facts, get_text, is_request
from manus.state.request import typed_request
from manus.state.usage import Budget, Spending
from manus.threads.base import Store
from manus.threads.history import ROOT, read_history
from manus.threads.outside_effects import OUTSIDE_EFFECT
from manus.threads.thread_list import Thread

_FROM_ELSEWHERE = frozenset({"delegate", "recall", "web_search"})
"""Tools without effects whose results do not depend on the files alone."""
_PARTS = {"human": "request", "chat": "request", "ai": "call", "tool": "observation"}
_MAX_LINES = 40
"""Lines of a difference that are reported."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first message of a conversation that differs from the recorded one."""

    step: int
    """Number of the step, from 1 over all runs of the thread."""
    part: str
    """`request`, `call` or `observation`; `end` if one of the two has more steps."""
    recorded: str
    actual: str

    def describe(self) -> str:
        """Return the difference as text, in the form of `diff -u`."""
        lines = difflib.unified_diff(
            self.recorded.splitlines(), self.actual.splitlines(), "recorded", "now", lineterm=""
        )
        head = f"Step {self.step} differs in its {self.part}:"
        return "\n".join([head, *islice(lines, _MAX_LINES)])


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run of a stored thread, and the conversation up to its end."""

    request: HumanMessage
    start: int
    """Index of the request in the messages."""
    messages: Sequence[BaseMessage]
    has_ended: bool
    """Whether the run ended by itself, not at a limit or by an error."""


@dataclass(slots=True)
class Playback:
    """The recorded conversation of a run, which answers in place of model, people and the web.

    It implements `Wrappers`, the interface of a middleware.
    """

    run: RecordedRun
    recorded_root: str
    root: str
    send: Callable[[str], Awaitable[object]]
    """Sends a message to the running agent."""
    difference: Difference | None = None
    tool_calls: ToolCallWrapper | None = None
    _position: int = field(init=False)
    """Number of messages up to the last reply, or up to the request."""
    _turns: list[Turn] = field(init=False)
    _results: dict[str, ToolMessage] = field(init=False)

    def __post_init__(self) -> None:
        """Normalize the recorded messages."""
        messages = self.run.messages
        self.tool_calls = self._answer_call
        self._position = self.run.start + 1
        self._turns = [_normalize(m, self.recorded_root) for m in messages]
        self._results = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}

    async def ask_model(self, step: ModelStep) -> ModelAnswer:
        """Compare the conversation of a request, and return the recorded reply to it.

        Raises:
            ReplayMismatchError: the conversation differs, or has no more replies.
        """
        index = self._find_reply()
        actual = [_normalize(m, self.root) for m in step.history.messages]
        self.difference = find_difference(self._turns[:index], actual)
        if self.difference is None and index == len(self._turns) and self.run.has_ended:
            ended = "The run ended here."
            self.difference = Difference(_count_steps(actual), "end", ended, "The run goes on.")
        if self.difference is not None or index == len(self._turns):
            raise ReplayMismatchError("The recorded run has no reply to this conversation.")
        self._position = index + 1
        for message in self.run.messages[index + 1 : self._find_reply()]:
            if isinstance(message, HumanMessage):  # sent during the run
                await self.send(get_text(message))
        recorded: Any = self.run.messages[index]
        message = decode_reply(encode_reply(recorded, self.recorded_root), self.root)
        used = Spending(
            role="main", input_tokens=0, output_tokens=0, cached_tokens=0, model_calls=1
        )
        return ModelAnswer(Reply(message, used, 0.0), [step.prepare(message)])

    def _find_reply(self) -> int:
        """Return the index of the next recorded reply, or the number of messages."""
        index = self._position
        while index < len(self._turns) and self._turns[index]["role"] != "ai":
            index += 1
        return index

    async def _answer_call(self, request: ToolCallRequest, handler: Handler) -> Answer:
        """Execute a call in the workspace, or return its recorded result."""
        recorded = self._results.get(str(request.tool_call["id"]))
        if recorded is None:
            return await handler(request)
        if _is_repeatable(request, recorded):
            try:
                return await handler(request)
            except GraphBubbleUp:  # it needs the answer of a person
                pass
        text = str(recorded.text).removesuffix(recorded.additional_kwargs.get(DESCRIPTION, ""))
        return ToolMessage(text, tool_call_id=recorded.tool_call_id, status=recorded.status)

    def check_end(self, outcome: Outcome) -> None:
        """Record a difference if the run has ended before the recorded one."""
        index = self._find_reply()
        if self.difference is None and index < len(self._turns):
            actual = f"The run ended ({outcome.stop_reason}): {outcome.output}"
            steps = _count_steps(self._turns[:index])
            self.difference = Difference(steps, "end", _as_text(self._turns[index]), actual)


def _is_repeatable(request: ToolCallRequest, recorded: ToolMessage) -> bool:
    """Return whether a call can be executed again without an effect outside of the workspace."""
    tool = request.tool
    if not call_facts(recorded).get("executed", True):
        return True  # the present code refuses it, too, or it differs
    if tool is None:
        return not request.tool_call["name"].startswith("mcp_")  # no server is started
    if not isinstance(tool, AgentTool) or tool.name in _FROM_ELSEWHERE:
        return False
    acts_outside = tool.acts_outside(request.tool_call["args"])
    return not acts_outside and OUTSIDE_EFFECT not in recorded.additional_kwargs


def _normalize(message: BaseMessage, root: str) -> Turn:
    turn = normalize_message(message, root)
    if isinstance(message, ToolMessage):
        turn["text"] = hide_noise(turn["text"], "<time>")
    return turn


def find_difference(recorded: Sequence[Turn], actual: Sequence[Turn]) -> Difference | None:
    """Return the first difference of two normalized conversations."""
    for index, (first, second) in enumerate(zip_longest(recorded, actual)):
        if first != second:
            role = (second or first)["role"]
            part = _PARTS[role]
            step = _count_steps(recorded[: index + 1]) + (part == "request")
            return Difference(step, part, _as_text(first), _as_text(second))
    return None


def _count_steps(turns: Sequence[Turn]) -> int:
    return sum(turn["role"] == "ai" for turn in turns)


def _as_text(turn: Turn | None) -> str:
    turn = turn or {"text": ""}
    calls = [json.dumps(call, ensure_ascii=False, indent=1) for call in turn.get("calls", ())]
    return "\n".join([turn["text"], *calls])


async def read_recorded_runs(store: Store, thread: Thread) -> list[RecordedRun]:
    """Return the runs of a thread, each with the conversation up to its end.

    Raises:
        UsageError: it is the thread of a flow, or its steps have been removed.
    """
    if thread.kind != "agent" or thread.is_compacted:
        reason = "a flow" if thread.kind != "agent" else "compacted"
        raise UsageError(f"The thread {thread.thread_id} is {reason}; it cannot be replayed.")
    messages: dict[str, AnyMessage] = {}
    reasons: dict[str, Any] = {}
    request = ""
    for superstep in (await read_history(store, thread.thread_id))[ROOT]:
        for message in superstep.messages:
            identifier = str(message.id)
            if not isinstance(message, RemoveMessage | SystemMessage):
                messages.setdefault(identifier, cast(AnyMessage, message))
            request = identifier if is_request(message) else request
        for reason in superstep.writes_to("stop_reason"):
            reasons[request] = reason
    conversation = without_closings([*messages.values()])
    starts = [index for index, message in enumerate(conversation) if is_request(message)]
    runs = []
    for start, end in zip(starts, [*starts[1:], len(conversation)], strict=True):
        first = cast(HumanMessage, conversation[start])
        ending = get_ending(reasons.get(str(first.id)), success=True)
        runs.append(RecordedRun(first, start, conversation[:end], not ending.resumes))
    return runs


def copy_first_files(thread: Thread, folder: Path) -> bool:
    """Write the files from before the thread's first change; return whether any are recorded."""
    store = open_snapshots(thread)
    if store is not None:
        write_snapshot(store, find_first_snapshot(store, thread), folder)
    return store is not None


async def replay(
    runs: Sequence[RecordedRun], thread: Thread, store: Store, workspace: Path, graph: RunGraph[Any]
) -> Difference | None:
    """Run recorded runs on a new thread of an empty store; return the first difference.

    Args:
        runs: the runs of the thread.
        thread: the recorded thread.
        store: the store of the new thread, which is also the checkpointer of the graph.
        workspace: a folder with the files from before the first run.
        graph: the agent, with the present prompts and tools.
    """
    steps = 1 + sum(isinstance(message, AIMessage) for message in runs[-1].messages)
    limits = {"max_steps": steps, "budget": Budget(), "model": None, "approve": "auto"}
    context = Context(**{**thread.options, **limits, "workspace": str(workspace)})
    profile = thread.profile or graph.profile.name
    for run in runs:
        request = {"messages": [run.request]}
        job = Job(thread.thread_id, "agent", profile, context, thread.request, graph, request)
        playback = Playback(
            run,
            thread.workspace or ".",
            str(workspace),
            lambda text: send(store, thread.thread_id, typed_request(text), queue=False),
        )
        graph.agent_options = AgentOptions(playback)
        async with store.hold(thread.thread_id):
            playback.check_end(await run_job(job, ["custom"], _ignore))
        if playback.difference is not None:
            return playback.difference
    return None


async def _ignore(mode: str, data: Any) -> None:
    """Drop an event of the run."""
