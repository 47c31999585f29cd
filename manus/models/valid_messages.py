"""Make the messages of a request valid for the server that it is sent to.

What is stored stays as it was: a model's invented name of a call, an image, an id in another
server's format. A message that is already valid is the same object afterwards, and what is derived
from a message depends on that message alone, so that requests keep a common prefix.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from manus.models.prompted import join_contents
from manus.models.server_rules import ServerRules
from manus.prompts.tools import CALLS_FINISHED, IMAGE_FOLLOWS, IMAGE_LEFT_OUT, NO_TEXT
from manus.state.history import PerHistory, PerMessage
from manus.state.messages import get_text, has_calls, has_image, is_image

_MAX_NAME = 64


def valid_name(name: str, rules: ServerRules) -> str:
    """Return the name of a tool, or of a call, as a server accepts it; the same for equal names.

    A hash keeps names apart that differ only in what a server refuses.
    """
    if re.fullmatch(rules.call_names, name):
        return name
    plain = re.sub(r"\W|-", "_", name, flags=re.ASCII)
    if not plain[:1].isalpha():
        plain = f"tool_{plain}"
    suffix = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[: _MAX_NAME - 9]}_{suffix}"


def valid_id(call_id: str | None, rules: ServerRules) -> str:
    """Return the id of a call as a server accepts it; the same for a call and its result."""
    call_id = call_id or ""
    if re.fullmatch(rules.call_ids, call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:9]


_MESSAGE = itemgetter(0)
_IMAGES = itemgetter(1)


class ValidMessages:
    """Makes requests that extend one another valid; each of their messages only once."""

    def __init__(self, rules: ServerRules) -> None:
        self._rules = rules
        self._messages = PerHistory(_per_message(rules).of)

    def of(self, request: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the messages of a request in a form and an order that the server accepts."""
        return _order(self._messages.list_values(request), self._rules)


class _Split(NamedTuple):
    """A valid message, and the images that must follow it in a message of their own."""

    message: BaseMessage
    images: tuple[Any, ...] = ()


def _split(message: BaseMessage, rules: ServerRules) -> _Split:
    """Return a message in a form that a server accepts, without images that it refuses there."""
    is_split = isinstance(message, ToolMessage) and has_image(message)
    images: Any = message.content if is_split and rules.images and not rules.tool_images else ()
    return _Split(make_valid(message, rules), tuple(filter(is_image, images)))


def _order(parts: list[_Split], rules: ServerRules) -> list[BaseMessage]:
    """Return the valid messages of a request in an order that the server accepts."""
    has_images = any(map(_IMAGES, parts))
    messages = _move_images(parts) if has_images else [*map(_MESSAGE, parts)]
    if rules.user_after_tool and rules.system_role:
        return messages
    return _arrange(messages, rules)


@lru_cache(64)
def _per_message(rules: ServerRules) -> PerMessage[_Split]:
    """Return the cache of the messages that are valid under the rules, which all runs share."""
    return PerMessage(partial(_split, rules=rules))


def make_valid(message: BaseMessage, rules: ServerRules) -> BaseMessage:
    """Return a message with names, ids and content that a server accepts."""
    changes: dict[str, Any] = {}
    content = _valid_content(message, rules)
    if isinstance(message, AIMessage):
        for kind in ("tool_calls", "invalid_tool_calls"):
            calls = getattr(message, kind)
            changes[kind] = [_valid_call(call, rules) for call in calls]
    elif isinstance(message, ToolMessage):
        changes["tool_call_id"] = valid_id(message.tool_call_id, rules)
        if message.name:
            changes["name"] = valid_name(message.name, rules)
    changes["content"] = content
    changes = {name: value for name, value in changes.items() if value != getattr(message, name)}
    return message.model_copy(update=changes) if changes else message


def _valid_call(call: Any, rules: ServerRules) -> Any:
    name = valid_name(call["name"] or "", rules)
    return {**call, "name": name, "id": valid_id(call["id"], rules)}


def _valid_content(message: BaseMessage, rules: ServerRules) -> Any:
    content: Any = message.content
    if isinstance(content, list):
        content = [_valid_block(block, rules) for block in content]
        if not rules.images:
            texts = [block for block in content if isinstance(block, dict) and "text" in block]
            if len(texts) == len(content):  # some servers refuse a list, whatever it contains
                content = "\n".join(block["text"] for block in texts)
        elif has_image(message) and isinstance(message, ToolMessage) and not rules.tool_images:
            content = f"{message.text}\n{IMAGE_FOLLOWS}"
    if has_calls(message):
        return content if rules.text_with_calls else ""
    if not rules.empty_content and not has_image(message) and not get_text(message).strip():
        return NO_TEXT
    return content


def _valid_block(block: Any, rules: ServerRules) -> Any:
    if is_image(block) and not rules.images:
        return {"type": "text", "text": IMAGE_LEFT_OUT}
    if isinstance(block, dict) and block.get("type") == "tool_use":
        return _valid_call(block, rules)
    return block


def _move_images(parts: Sequence[_Split]) -> list[BaseMessage]:
    """Return the messages with the images of each batch of tool messages after it, in one."""
    moved: list[BaseMessage] = []
    images: list[Any] = []
    for part in parts:
        if images and not isinstance(part.message, ToolMessage):
            moved.append(HumanMessage(images))
            images = []
        images += part.images
        moved.append(part.message)
    return [*moved, HumanMessage(images)] if images else moved


def _arrange(messages: Sequence[BaseMessage], rules: ServerRules) -> list[BaseMessage]:
    """Return the messages in an order in which roles alternate, apart from calls and results.

    Between results and a user message comes an assistant message, not the results' own text: what
    the user says must not look like a result.
    """
    arranged: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, SystemMessage) and not rules.system_role:
            message = HumanMessage(message.content)
        previous = arranged[-1] if arranged else None
        follows_tool = isinstance(previous, ToolMessage) and isinstance(message, HumanMessage)
        if follows_tool and not rules.user_after_tool:
            arranged.append(AIMessage(CALLS_FINISHED))
        if type(previous) is type(message) and not isinstance(message, ToolMessage | SystemMessage):
            content = message.content
            if previous.content:
                content = join_contents(previous.content, content or "")
            arranged[-1] = message.model_copy(update={"content": content})
        else:
            arranged.append(message)
    return arranged
