"""Tools for models that cannot call them: described in the system prompt, read from the reply.

Nothing of it is in the history, which holds calls and tool messages as for any other model; so a
thread can go on with another model at any time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from manus.models.error_facts import message_of
from manus.models.malformed import arguments_of, with_calls
from manus.models.repair import REPAIRED, unnamed
from manus.models.repair_text import read_arguments
from manus.models.thoughts import REASONING, thought_apart
from manus.prompts import tools as prompts
from manus.state.messages import calls_of, has_calls, text_of

SAID, CALL_IDS = "prompted_said", "prompted_ids"
"""In a streamed reply's `additional_kwargs`: what the model wrote word for word, and the ids under
which its calls were streamed."""
_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_TAG = re.compile(r"<(/?)tool_call>")
_EMPTY_FENCE = re.compile(r"```\w*\s*```")
_NAME = re.compile(r"[\"'“”‘’]name[\"'“”‘’]\s*[:：]\s*[\"'“”‘’]([\w.-]{1,64})[\"'“”‘’]")
_NO_TOOLS = re.compile(
    r"not support (?:tool|function)|(?:tools?|function)[- ](?:use|calls?|calling) (?:is|are) not"
    r"|support tool use|enable-auto-tool-choice|tools param requires|unsupported.{0,30}\btools?\b"
    r"|\btools?\b.{0,40}(?:not supported|unsupported)",
    re.IGNORECASE,
)


def has_no_tools(error: BaseException) -> bool:
    """Whether a server has refused a request because its model cannot call tools."""
    return bool(_NO_TOOLS.search(f"{error} {error.__cause__ or ''} {message_of(error)}"))


def prompted(request: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> list[BaseMessage]:
    """The request in words alone: tools in the system prompt, calls and results as text."""
    described = prompts.describe(
        [json.dumps(tool["function"], ensure_ascii=False) for tool in tools]
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
        return HumanMessage(_joined(head, _harmless(message.content)))
    if isinstance(message, AIMessage):
        calls = [_written(call["name"] or "", call["args"]) for call in calls_of(message)]
        return AIMessage("\n".join(part for part in (text_of(message), *calls) if part))
    return message


def _harmless(content: Any) -> Any:
    """A result in which nothing is a call: a model that repeats what it has read calls nothing."""
    if isinstance(content, str):
        return _TAG.sub(r"<\1tool_call >", content)
    return [
        {**block, "text": _harmless(block["text"])}
        if isinstance(block, dict) and isinstance(block.get("text"), str)
        else block
        for block in content
    ]


def _written(name: str, args: Any) -> str:
    if not isinstance(args, dict):
        return prompts.call(f'{{"name": {json.dumps(name)}, "arguments": {args}}}')
    return prompts.call(json.dumps({"name": name, "arguments": args}, ensure_ascii=False))


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_blocks(first), *_blocks(second)]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def with_prompted_calls(message: AIMessage) -> AIMessage:
    """The reply with the calls that stand in its text; what cannot be read is malformed.

    Calls are left where they come from a server that has tools after all.
    """
    said = message.additional_kwargs.pop(SAID, None)
    ids = message.additional_kwargs.pop(CALL_IDS, [])
    thought, text = thought_apart(text_of(message) if said is None else said)
    if thought.strip():  # what was streamed of it as calls is none
        ids = []
        message.additional_kwargs.setdefault(REASONING, thought.strip())
        message.content = text
    found = _CALL.findall(text)
    if not found or (said is None and has_calls(message)):
        return message
    message.content = _EMPTY_FENCE.sub("", _CALL.sub("", text)).strip()
    calls, notes = [], {}
    for place, body in enumerate(found):
        call, how = _read(body.strip())
        call["id"] = ids[place] if place < len(ids) else None
        calls.append(call)
        if how:
            notes[call["id"] or unnamed(place)] = [how]
    if notes:
        message.additional_kwargs[REPAIRED] = notes
    return with_calls(message, calls)


def read_call(body: str) -> tuple[str, str]:
    """Name and arguments (as text) of a call in a reply's text."""
    call, _ = _read(body.strip())
    return call["name"], call["args"]


def _read(body: str) -> tuple[dict[str, Any], str]:
    """The call that a body means, and what had to be forgiven."""
    try:
        said, how = _object(body)
        if isinstance(inner := said.get("function"), dict):  # as OpenAI's protocol has it
            said = inner
        name, rest = said["name"], {key: said[key] for key in said if key != "name"}
        args = rest.get("arguments", rest.get("parameters", rest))
        if rest.get("parameters", args) != args:
            raise ValueError("arguments and parameters")  # which of them, only the model knows
    except (ValueError, KeyError):
        found = _NAME.search(body)
        # what is no call is not arguments either, in whatever notation
        return {"id": None, "name": found[1] if found else "unknown", "args": f"…{body}"}, ""
    if args is rest and rest:
        how = how or "the arguments stood beside the tool's name"
    text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
    return {"id": None, "name": str(name), "args": text}, how


def _object(body: str) -> tuple[dict[str, Any], str]:
    try:
        return arguments_of(body), ""
    except ValueError:
        return read_arguments(body, {})
