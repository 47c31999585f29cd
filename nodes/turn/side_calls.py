"""Model calls that tools make: a tool asks the model of a role without knowing of models."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from manus.nodes.active_run import Running
from manus.state.messages import text_of


def offer_model(running: Running) -> None:
    """Let the tools of a run ask its models; what that uses is counted with the tool's call."""

    async def ask(role: str, messages: list[BaseMessage]) -> str:
        reply = await running.client.complete(role, messages, quiet=True)
        return text_of(reply.message)

    running.session.complete = ask
