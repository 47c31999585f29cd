"""Add messages that the user has sent during a run to its history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite

from manus.nodes.active_run import ActiveRun
from manus.state.events import MessageEvent
from manus.state.messages import get_text
from manus.threads.records.thread_inbox import ThreadInbox


async def receive_messages(state: Any, inbox: ThreadInbox | None) -> tuple[Any, list[AnyMessage]]:
    """Return the state with the user's unread messages in its history, and the messages.

    They are new input: a loop before them no longer counts.
    """
    if inbox is None:
        return state, []
    stored = state.get("messages", [])
    received = cast(list[AnyMessage], await inbox.receive(stored))
    if not received:
        return state, []
    changes: dict[str, Any] = {"messages": [*stored, *received]}
    if "loop" in state:
        changes |= {"loop": None, "trail": []}
    return {**state, **changes}, received


def announce_messages(messages: Sequence[AnyMessage], emit: Any) -> None:
    """Emit an event for each user message that the model now reads."""
    for message in messages:
        emit(MessageEvent(type="message", id=str(message.id), text=get_text(message)))


def forget_loop() -> Any:
    """Return the update that restarts loop detection after new input."""
    return {"loop": None, "trail": Overwrite([])}


async def has_unread(state: Any, active_run: ActiveRun) -> bool:
    """Return whether a user message would be left unread at the end of the run."""
    if active_run.inbox is None:
        return False
    return await active_run.inbox.has_unread(state.get("messages", []))
