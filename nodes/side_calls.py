"""Model calls that tools make: a tool asks the model of a role without knowing of models."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from nodes.complete import complete
from nodes.running import Running
from state.agent import Usage
from state.messages import text_of


def offer_model(running: Running) -> None:
    """Let the tools of a run ask its models; what that uses is counted with the next step."""

    async def ask(role: str, messages: list[BaseMessage]) -> str:
        reply = await complete(running, role, messages)
        running.side_replies.append(reply)
        return text_of(reply.message)

    running.session.complete = ask


def with_side_calls(usage: Usage, running: Running) -> Usage:
    """The usage with the model calls that tools made since it was last counted."""
    while running.side_replies:
        usage = running.side_replies.pop().added_to(usage)
    return usage
