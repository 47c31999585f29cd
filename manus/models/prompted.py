"""Tools for models that cannot call them: described in the system prompt, read from the reply.

Nothing of it is in the history, which holds calls and tool messages as for any other model; so a
thread can go on with another model at any time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from manus.models.tool_calls import arguments_of, read_arguments, with_calls
from manus.prompts import tools as prompts
from manus.state.messages import calls_of, has_calls, text_of, with_texts

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_TAG = re.compile(r"<(/?)tool_call>")
_EMPTY_FENCE = re.compile(r"```\w*\s*```")
_NAME = re.compile(r"[\"']name[\"']\s*:\s*[\"']([\w.-]{1,64})[\"']")


def prompted(request: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> list[BaseMessage]:
    """The request in words alone: tools in the system prompt, calls and results as text."""
    described = prompts.describe(
        [json.dumps(t["function"], ensure_ascii=False) for t in tools if "function" in t]
    )
    made = in_words(request)
    if made and isinstance(made[0], SystemMessage):
        made[0] = SystemMessage(f"{text_of(made[0])}\n\n{described}")
    return made


def in_words(request: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The request with calls and results as text."""
    made: list[BaseMessage] = []
    for message in request:
        shown = _in_words(message)
        if isinstance(shown, HumanMessage) and made and isinstance(made[-1], HumanMessage):
            # several servers insist that user and assistant take turns
            made[-1] = HumanMessage(_joined(made[-1].content, shown.content))
        else:
            made.append(shown)
    return made


def _in_words(message: BaseMessage) -> BaseMessage:
    if isinstance(message, ToolMessage):
        head = prompts.result_of(message.name or "tool", failed=message.status == "error")
        # a model that repeats what it has read calls nothing
        said = with_texts(message.content, lambda text: _TAG.sub(r"<\1tool_call >", text))
        return HumanMessage(_joined(head, said))
    if isinstance(message, AIMessage):
        calls = [_written(call["name"] or "", call["args"]) for call in calls_of(message)]
        return AIMessage("\n".join(part for part in (text_of(message), *calls) if part))
    return message


def _written(name: str, args: Any) -> str:
    if not isinstance(args, dict):
        return prompts.call(f'{{"name": {json.dumps(name)}, "arguments": {args}}}')
    return prompts.call(json.dumps({"name": name, "arguments": args}, ensure_ascii=False))


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*blocks_of(first), *blocks_of(second)]


def blocks_of(content: Any) -> list[Any]:
    """The content of a message as blocks."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def with_prompted_calls(message: AIMessage) -> AIMessage:
    """The reply with the calls that stand in its text; what cannot be read is malformed.

    Calls are left where they come from a server that has tools after all.
    """
    found = _CALL.findall(text := text_of(message))
    if not found or has_calls(message):
        return message
    message.content = _EMPTY_FENCE.sub("", _CALL.sub("", text)).strip()
    return with_calls(message, [_read(body.strip()) for body in found])


def _read(body: str) -> dict[str, Any]:
    """The call that a body means."""
    try:
        said = read_arguments(body) or arguments_of(body)
        if isinstance(inner := said.get("function"), dict):  # as OpenAI's protocol has it
            said = inner
        name = said["name"]
        rest = {key: said[key] for key in said if key != "name"}
        args = rest.get("arguments", rest.get("parameters", rest))
    except (ValueError, KeyError):
        found = _NAME.search(body)
        # what is no call is not arguments either, in whatever notation
        return {"id": None, "name": found[1] if found else "unknown", "args": f"…{body}"}
    text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
    return {"id": None, "name": str(name), "args": text}
