"""Encode messages for the chat completions protocol, each message once."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
    convert_to_openai_messages,
)

from manus.config.model_settings import ModelSettings
from manus.config.provider_table import UNSIGNED
from manus.models.reasoning import EXTRA, REASONING, hash_origin, is_foreign, restore_sealed
from manus.models.server_rules import ServerRules
from manus.prompts.tools import NO_TEXT
from manus.state.history import PerHistory, PerMessage
from manus.state.messages import get_text, list_calls

SERVER_RULES = "server_rules"
"""Keyword argument of a model call: the `WireRules` of its endpoint."""
WIRE_FORMS = "wire_forms"
"""Keyword argument of a model call: the `WireForms` of requests that extend one another."""


class WireRules(NamedTuple):
    """What decides how a message is encoded for an endpoint."""

    server: ServerRules = ServerRules()
    origin: str = ""
    """`hash_origin` the endpoint whose sealed reasoning is sent back; if empty, none is."""
    reasoning: bool = False
    """Whether readable reasoning is sent, with every assistant message."""


@lru_cache(64)
def select_wire_rules(endpoint: ModelSettings, rules: ServerRules) -> WireRules:
    """Return how messages are encoded for an endpoint with these rules."""
    if endpoint.send_reasoning is False:
        return WireRules(rules)
    sends_text = bool(endpoint.send_reasoning) or not rules.missing_reasoning
    return WireRules(rules, hash_origin(endpoint), sends_text)


def encode(value: Any) -> bytes:
    """Return compact JSON in UTF-8; escape lone surrogates, which UTF-8 cannot encode."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


WireForms = PerHistory[bytes]


@lru_cache(64)
def _per_message(rules: WireRules) -> PerMessage[bytes]:
    """Return the cache of the messages encoded under the rules, which all runs share."""
    return PerMessage(lambda message: encode(wire_form(message, rules)))


def new_wire_forms(rules: WireRules) -> WireForms:
    """Return the cache of the encoded messages of requests that extend one another."""
    return PerHistory(_per_message(rules).of)


def wire_form(message: BaseMessage, rules: WireRules) -> dict[str, Any]:
    """Return a valid message in the form of the chat completions protocol.

    Arguments that are not JSON are wrapped: several servers parse them again when they fill in
    their prompt template, and refuse the whole history for one malformed call.
    """
    if isinstance(message, AIMessage):
        form = _assistant_form(message, rules)
    elif isinstance(message, ToolMessage):
        content = get_text(message)
        form = {"role": "tool", "tool_call_id": message.tool_call_id, "content": content}
    else:
        user_form: Any = convert_to_openai_messages(message)
        form = dict(user_form)
    for name in rules.server.dropped & form.keys():
        del form[name]
    return form


def _assistant_form(message: AIMessage, rules: WireRules) -> dict[str, Any]:
    calls: list[dict[str, Any]] = [_call_form(call) for call in list_calls(message)]
    # text alone: the blocks may come from another provider's model
    content: str | None = get_text(message)
    if calls and not content:
        content = _replace_empty(rules.server)
    form: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        form["tool_calls"] = calls
    if rules.reasoning:
        # servers that require the field require it in every message, even if it is empty
        form[REASONING] = ""
    fields = message.additional_kwargs
    if fields and not is_foreign(message, rules.origin):
        if rules.reasoning:
            form[REASONING] = fields.get(REASONING, "")
        restore_sealed(form, message)
    if calls and not (rules.server.unsigned_calls or EXTRA in calls[0]):
        calls[0][EXTRA] = UNSIGNED  # the first call of a message has its signature
    return form


def _replace_empty(rules: ServerRules) -> str | None:
    """Return the content of a message with calls alone."""
    if rules.null_content:
        return None
    return "" if rules.empty_content else NO_TEXT


def _call_form(call: ToolCall | InvalidToolCall) -> dict[str, Any]:
    arguments: Any = call["args"]
    if not isinstance(arguments, dict):
        arguments = {"malformed_arguments": arguments or ""}
    function = {"name": call["name"], "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"type": "function", "id": call["id"], "function": function}
