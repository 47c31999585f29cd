"""Tools on demand: a request lists only their names, and `use_tool` describes and calls them.

So the schemas in the requests of a run stay the same, byte for byte, and remain in the provider's
prompt cache. In the history of a thread, a call through `use_tool` is a call of the tool itself: it
is converted when the reply arrives, and back when a request is built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from manus.calls.catalog import USE_TOOL, Catalog
from manus.calls.tool_descriptions import list_named_arguments
from manus.models.tool_calls import repair_arguments
from manus.prompts import on_demand as prompts
from manus.state.messages import DESCRIBES, DESCRIPTION, THROUGH

_NAME_KEYS = ("name", "tool", "tool_name")
_ARGUMENTS_KEYS = ("arguments", "args", "parameters", "input")


def unwrap_calls(message: AIMessage, catalog: Catalog) -> None:
    """Replace the calls through `use_tool` in a reply with calls of the tools themselves.

    The message is marked with their ids. A call that asks for a description is not changed.
    """
    if not catalog.on_demand:
        return
    through = []
    for call in message.tool_calls:
        if call["name"].lower() == USE_TOOL:
            target = _find_target(call["args"], catalog)
            if target is not None:
                call["name"], call["args"] = target
                through.append(call["id"])
    if through:
        message.additional_kwargs[THROUGH] = through


def _find_target(values: Mapping[str, Any], catalog: Catalog) -> tuple[str, dict[str, Any]] | None:
    """Return the tool to call, and its arguments; None if they are unclear."""
    name = get_name(values)
    tool = catalog.find(name)
    if tool is None or tool.name == USE_TOOL:
        return None
    arguments = get_arguments(values)
    if arguments is None or (not arguments and catalog.get_parameters(tool).get("required")):
        return None
    return tool.name, arguments


def get_name(values: Mapping[str, Any]) -> str:
    """Return the name of the tool in the arguments of `use_tool`; empty if there is none."""
    names = [values[key] for key in _NAME_KEYS if isinstance(values.get(key), str)]
    return str(names[0]).strip() if names else ""


def get_arguments(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments for the tool; None if there are none, or if they are not an object.

    Models also send them as JSON in a string, or next to the name.
    """
    rest = dict(values)
    for key in _NAME_KEYS:
        if isinstance(rest.get(key), str):
            del rest[key]
            break
    for key in _ARGUMENTS_KEYS:
        if len(rest) == 1 and key in rest:
            inner = rest[key]
            if isinstance(inner, str):
                return repair_arguments(inner)
            return inner if isinstance(inner, dict) else None
    return rest or None


class DispatchedCalls:
    """The calls of a history that the model made through `use_tool`."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        """The ids of the calls."""

    def wrap(self, message: AnyMessage) -> AnyMessage:
        """Return a message with these calls in the form in which the model sent them."""
        if isinstance(message, AIMessage) and THROUGH in message.additional_kwargs:
            ids = set(message.additional_kwargs[THROUGH])
            self.ids |= ids
            calls = [_wrap(call) if call["id"] in ids else call for call in message.tool_calls]
            return message.model_copy(update={"tool_calls": calls})
        if isinstance(message, ToolMessage) and message.tool_call_id in self.ids:
            return message.model_copy(update={"name": USE_TOOL})
        return message


def _wrap(call: ToolCall) -> ToolCall:
    arguments = {"name": call["name"], "arguments": call["args"]}
    return ToolCall(id=call["id"], name=USE_TOOL, args=arguments, type="tool_call")


def described_tools(messages: Sequence[AnyMessage]) -> set[str]:
    """Return the lower-case names of the tools on demand that a history describes."""
    names = set()
    for message in messages:
        if isinstance(message, ToolMessage) and DESCRIBES in message.additional_kwargs:
            names.add(str(message.additional_kwargs[DESCRIBES]).lower())
    return names


def mark_description(
    message: ToolMessage, args: Mapping[str, Any], catalog: Catalog, described: set[str]
) -> None:
    """Mark the message of a call that describes a tool on demand.

    The first call of such a tool describes it too: its description follows the result, unless the
    list already names all arguments. `described` contains the lower-case names of the tools that
    the history already describes.
    """
    name = str(message.name)
    if name.lower() == USE_TOOL and message.status == "success":
        name = get_name(args)
    elif catalog.is_on_demand(name) and name.lower() not in described:
        tool = catalog.find(name)
        assert tool is not None
        if message.status == "success" and _is_listed_whole(catalog.get_parameters(tool)):
            return
        message.additional_kwargs[DESCRIPTION] = prompts.first_use(catalog.describe(tool))
    else:
        return
    if catalog.is_on_demand(name):
        message.additional_kwargs[DESCRIBES] = name
        described.add(name.lower())


def _is_listed_whole(parameters: Mapping[str, Any]) -> bool:
    """Return whether the list of tools names all arguments of a tool."""
    return set(parameters.get("properties", ())) <= set(list_named_arguments(parameters))
