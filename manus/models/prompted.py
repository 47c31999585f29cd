"""Tools for models without tool calling: described in the system prompt, parsed from the reply.

Calls are also parsed from the text if the server, not the model, lacks tool calling.

The history is not affected: it contains calls and tool messages as for any other model, so a thread
can continue with another model at any time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from manus.models.reasoning import REASONING
from manus.models.text_calls import read_text_calls
from manus.models.text_marks import ToolIndex
from manus.models.tool_calls import with_calls
from manus.prompts import tools as prompts
from manus.state.messages import get_text, has_calls, list_calls, with_texts
from manus.state.replies import CALLS_IN_TEXT, READ, UNREADABLE, ended_at_limit

_TAG = re.compile(r"<(/?)tool_call>")
_EMPTY_FENCE = re.compile(r"```\w*\s*```")


def prompt_with_tools(
    request: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]
) -> list[BaseMessage]:
    """Return the request as plain text, with the tools described in the system prompt."""
    schemas = [tool["function"] for tool in tools if "function" in tool]
    description = prompts.describe([json.dumps(s, ensure_ascii=False) for s in schemas])
    messages = as_plain_text(request)
    if messages and isinstance(messages[0], SystemMessage):
        messages[0] = SystemMessage(f"{get_text(messages[0])}\n\n{description}")
    return messages


def as_plain_text(request: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the request with its calls and results as text."""
    return [*map(_message_as_text, request)]


def _message_as_text(message: BaseMessage) -> BaseMessage:
    if isinstance(message, ToolMessage):
        head = prompts.format_result_header(
            message.name or "tool", failed=message.status == "error"
        )
        # so that a model that repeats a result does not call a tool
        result = with_texts(message.content, lambda text: _TAG.sub(r"<\1tool_call >", text))
        return HumanMessage(join_contents(head, result))
    if isinstance(message, AIMessage):
        calls = [_format_call(call["name"] or "", call["args"]) for call in list_calls(message)]
        return AIMessage("\n".join(filter(None, [get_text(message), *calls])))
    return message


def _format_call(name: str, arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return prompts.call(f'{{"name": {json.dumps(name)}, "arguments": {arguments}}}')
    return prompts.call(json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False))


def join_contents(first: Any, second: Any) -> Any:
    """Return the contents of two messages as one."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*list_blocks(first), *list_blocks(second)]


def list_blocks(content: Any) -> list[Any]:
    """Return the content of a message as a list of blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content)


def with_text_calls(
    message: AIMessage, tools: Sequence[dict[str, Any]], *, is_prompted: bool = False
) -> AIMessage:
    """Return the reply with the calls parsed from its text; unreadable ones are malformed.

    A reply that has native calls is unchanged. `is_prompted`: the calls were requested as text;
    otherwise the message is marked, and nothing may follow them.
    """
    if has_calls(message) or not isinstance(message.content, str):
        return message
    # templates that open a thought in the prompt lose the call if the model does not close it
    is_thought = not message.content.strip()
    text = message.additional_kwargs.get(REASONING, "") if is_thought else message.content
    read = read_text_calls(text, ToolIndex(tools), may_continue=is_prompted and not is_thought)
    if read.is_unreadable:
        message.additional_kwargs[CALLS_IN_TEXT] = UNREADABLE
    if not read.calls:
        return message
    if not is_prompted:
        message.additional_kwargs[CALLS_IN_TEXT] = READ
    prose = _EMPTY_FENCE.sub("", read.text).strip()
    if is_thought:
        message.additional_kwargs[REASONING] = prose
    else:
        message.content = prose
    calls = [{"id": None, "name": call.name, "args": call.arguments} for call in read.calls]
    if ended_at_limit(message):  # the ellipsis keeps them from being parsed in any notation
        calls[-1]["args"] = f"…{calls[-1]['args']}"
    return with_calls(message, calls)
