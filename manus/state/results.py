"""Typed results of `invoke` and `ainvoke`, so that type checkers report a misspelled key.

The keys of a run that ended, failed or asks a question. A run that stopped at a breakpoint of the
caller has only those that its nodes have written so far.
"""

from __future__ import annotations

from typing import NotRequired

from langchain_core.messages import AnyMessage
from langgraph.types import Interrupt
from typing_extensions import TypedDict

from manus.state.agent import Refusal
from manus.state.endings import RunStatus, StopReason
from manus.state.plan import Plan
from manus.state.todos import Todo
from manus.state.usage import Usage


class AgentResult(TypedDict):
    """Result of a run of the agent graph; its keys are those of `AgentOutput`."""

    status: RunStatus
    stop_reason: StopReason | None
    success: bool | None
    output: str
    usage: Usage
    messages: list[AnyMessage]
    results: NotRequired[list[str]]
    refused: NotRequired[list[Refusal]]
    __interrupt__: NotRequired[list[Interrupt]]


class FlowResult(AgentResult):
    """Result of a run of the flow graph; its keys are those of `FlowOutput`."""

    plan: NotRequired[Plan]
    todos: NotRequired[list[Todo]]
