"""The input of a graph as a pydantic model, from which `as_tool` builds the schema of a tool."""

from __future__ import annotations

from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from manus.state.agent import AgentInput

_MESSAGES = "Instead of the request: messages as objects with `role` and `content`"


def input_model(schema: type[Any], name: str) -> type[BaseModel]:
    """Return a model with the keys of an input schema; an omitted key is None.

    Messages are plain objects: the schemas of all classes of messages would take 30 KB.
    """
    fields: dict[str, Any] = {}
    for key, hint in get_type_hints(schema, include_extras=True).items():
        fields[key] = (hint, None)
    fields.pop("status", None)
    fields["messages"] = (list[dict[str, Any]], Field(None, description=_MESSAGES))
    return create_model(
        f"{name}_input",
        __config__=ConfigDict(arbitrary_types_allowed=True),
        __doc__=AgentInput.__doc__,
        **fields,
    )
