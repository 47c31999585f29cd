"""Requests in the format of agent-chat-ui and deep-agents-ui."""

import base64
import uuid
from typing import Any

from tests.server_api.studio import Studio

AGENT_CHAT: Any = {"stream_mode": ["values"], "stream_subgraphs": True, "stream_resumable": True}
DEEP_AGENTS: Any = {"stream_mode": ["values", "messages-tuple"], "config": {"recursion_limit": 99}}


def human(content: Any) -> dict[str, Any]:
    """Return a message as both create it."""
    return {"id": str(uuid.uuid4()), "type": "human", "content": content}


def build_attachment(kind: str, mime: str, data: bytes, name: str) -> dict[str, Any]:
    """Return a file as agent-chat-ui attaches it."""
    meta = {"name" if kind == "image" else "filename": name}
    encoded = base64.b64encode(data).decode()
    return {"type": kind, "mimeType": mime, "data": encoded, "metadata": meta}


async def send(
    studio: Studio, thread: str, graph: str = "agent", ui: Any = AGENT_CHAT, **options: Any
) -> dict[str, Any]:
    """Send one request of a UI; return the resulting state of the thread."""
    context = studio.context(**options.pop("context", {}))
    stream = studio.client.runs.stream(thread, graph, context=context, **ui, **options)
    parts = [part async for part in stream]
    assert parts[-1].event != "error", parts[-1].data
    state: Any = (await studio.client.threads.get_history(thread, limit=1))[0]
    assert isinstance(state, dict)
    return state


def build_handled(call_id: str, name: str) -> dict[str, Any]:
    """Return the tool message that agent-chat-ui invents for a call that has none."""
    return {
        "type": "tool",
        "tool_call_id": call_id,
        "id": f"do-not-render-{uuid.uuid4()}",
        "name": name,
        "content": "Successfully handled tool call.",
    }


def build_typed(words: str, state: dict[str, Any], ui: Any) -> dict[str, Any]:
    """Return what a UI sends when a person types a message while the thread waits."""
    if ui is DEEP_AGENTS:
        messages, checkpoint = [human(words)], {"checkpoint_id": state["checkpoint_id"]}
        return {"input": {"messages": messages}, "checkpoint": checkpoint}
    last = state["values"]["messages"][-1]
    made_up = [build_handled(call["id"], call["name"]) for call in last["tool_calls"]]
    content = [{"type": "text", "text": words}]
    return {"input": {"messages": [*made_up, human(content)]}, "checkpoint": get_checkpoint(state)}


def build_decision(state: dict[str, Any], **decision: Any) -> dict[str, Any]:
    """Return what agent-chat-ui sends when a person decides about a call."""
    command = {"resume": {"decisions": [decision]}}
    return {"command": command, "input": {}, "checkpoint": get_checkpoint(state)}


def get_checkpoint(state: dict[str, Any]) -> dict[str, Any]:
    """Return the checkpoint in the form of the SDK's `useStream`."""
    return {name: value for name, value in state["checkpoint"].items() if name != "thread_id"}


def list_questions(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the questions that the thread waits for."""
    return [i["value"] for task in state["tasks"] for i in task["interrupts"]]
