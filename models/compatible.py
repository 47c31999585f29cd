"""Replies of compatible servers, brought into the form that the chat completions protocol has.

What servers were seen to do otherwise: arguments as an object or null, ids as numbers or none, a
text in blocks, figures as text or null, an error where the reply should be.
"""

from __future__ import annotations

import json
from typing import Any

from manus.models.malformed import told_apart
from manus.models.server_usage import whole_usage
from manus.models.thoughts import IN_TEXT, REASONING, THOUGHT_AS, thought_apart

SEND_REASONING = "send_reasoning"
"""An argument of a model's call: how what the model thought goes back (`origins.Back`)."""
_REASONING_NAMES = (REASONING, "reasoning", IN_TEXT)
_FAILED = ("error", "abort", "network_error", "insufficient_system_resource")
"""Why a reply ended that is no reply: OpenRouter, vLLM, Zhipu, DeepSeek."""
_DETAILS = ("text", "summary")


def mend_reply(said: Any) -> Any:
    """A whole reply in the protocol's form; changed in place, what is of another shape is left.

    Raises:
        ValueError: it is an error; its argument is what the server says of it.
    """
    if not isinstance(said, dict):
        return said
    raise_if_error(said)
    said["usage"] = whole_usage(said.get("usage"))
    for choice in said.get("choices") or ():
        raise_if_failed(choice)
        message = choice.get("message")
        if isinstance(message, dict):
            mend_message(message)
            _drop_what_is_no_call(message)
            _take_thought_out(message)
    return said


def take_calls_apart(said: Any) -> dict[str, Any]:
    """What `told_apart` says of a whole reply, which then keeps only what LangChain can read."""
    try:
        message = said["choices"][0]["message"]
        calls = [(call, call["function"]) for call in message.get("tool_calls") or ()]
        raw = [
            {"id": call["id"], "name": said.get("name"), "args": said.get("arguments") or ""}
            for call, said in calls
        ]
    except (AttributeError, KeyError, IndexError, TypeError):
        return {}  # of another shape: what is wrong with it is said by whoever reads it
    apart = told_apart(raw)
    if apart:
        message["tool_calls"] = []
    for _, function in calls:
        if not (function.get("arguments") or "").strip():
            function["arguments"] = "{}"
    return apart


def raise_if_error(said: dict[str, Any]) -> None:
    """See that a body is no error: some servers send one with status 200, or as a chunk.

    Raises:
        ValueError: it is one.
    """
    if said.get("error"):
        raise ValueError(said["error"])
    if not said.get("choices") and (said.get("object") == "error" or _is_bare_error(said)):
        raise ValueError(said)


def _is_bare_error(said: dict[str, Any]) -> bool:
    return isinstance(said.get("message"), str) and not said.get("usage")


def raise_if_failed(choice: Any) -> None:
    """See that a reply did not fail while it was being written.

    Raises:
        ValueError: it did.
    """
    if not isinstance(choice, dict):
        return
    if choice.get("error"):
        raise ValueError(choice["error"])
    if (reason := choice.get("finish_reason")) in _FAILED:
        raise ValueError({"message": f"the reply failed on the way (finish reason `{reason}`)"})


def mend_message(message: dict[str, Any]) -> None:
    """A message or a piece of one: its role, its text and its calls; changed in place."""
    if message.get("role") != "assistant":
        message["role"] = "assistant"
    content = message.get("content")
    if isinstance(content, list):
        message["content"] = "".join(_text(block, "text") for block in content)
        if thought := "".join(_text(block, "thinking") for block in content):
            message[REASONING] = thought
    if isinstance(message.get("refusal"), str) and not message.get("content"):
        message["content"] = message["refusal"]
    calls = message.get("tool_calls")
    if calls is not None:
        found = calls if isinstance(calls, list) else [calls]
        message["tool_calls"] = [_mended(call) for call in found if isinstance(call, dict)]


def _text(block: Any, kind: str) -> str:
    """The text in a block of that kind; a thought may be in blocks itself."""
    if isinstance(block, str):
        return block if kind == "text" else ""
    if not isinstance(block, dict) or block.get("type") != kind:
        return ""
    inner = block.get(kind)
    if isinstance(inner, list):
        return "".join(_text(one, "text") for one in inner)
    return inner if isinstance(inner, str) else ""


def _mended(call: dict[str, Any]) -> dict[str, Any]:
    """A call, or a piece of one, with texts where the protocol has texts."""
    function = call.get("function")
    function = dict(function) if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        function["arguments"] = json.dumps(arguments, ensure_ascii=False)
    id_ = call.get("id")
    named = str(id_) if id_ not in (None, "") else None
    return {**call, "id": named, "function": function}


def _drop_what_is_no_call(message: dict[str, Any]) -> None:
    if calls := message.get("tool_calls"):
        message["tool_calls"] = [call for call in calls if call["function"].get("name")]


def _take_thought_out(message: dict[str, Any]) -> None:
    content = message.get("content")
    if not isinstance(content, str):
        return
    thought, message["content"] = thought_apart(content)
    if thought.strip() and not reasoning_of(message):
        message[IN_TEXT] = thought.strip()


def reasoning_name(said: Any) -> str:
    """The field in which a reply, or a piece of one, has the words of a thought; "" for none."""
    found = said if isinstance(said, dict) else {}
    return next((n for n in _REASONING_NAMES if isinstance(found.get(n), str) and found[n]), "")


def named(name: str) -> dict[str, str]:
    """What `additional_kwargs` say of that field: nothing where it is the usual one."""
    return {THOUGHT_AS: name} if name not in ("", REASONING) else {}


def reasoning_of(said: Any) -> str:
    """What a compatible server says of the model's thinking, in a reply or a piece of one."""
    if not isinstance(said, dict):
        return ""
    if name := reasoning_name(said):
        return str(said[name])
    details = said.get("reasoning_details")
    return "".join(map(_detail, details)) if isinstance(details, list) else ""


def _detail(detail: Any) -> str:
    if not isinstance(detail, dict):
        return ""
    found = (detail.get(name) for name in _DETAILS)
    return next((text for text in found if isinstance(text, str)), "")
