"""Descriptions of a graph: its drawing, the schema of its input, and the graph as a tool."""

from __future__ import annotations

from typing import Any, get_type_hints

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.graph import Graph
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel, ConfigDict, Field, create_model

from manus.config.context import Context
from manus.config.profile import Profile
from manus.graph.routing import with_all_labels
from manus.state.agent import AgentInput

_MESSAGES = "Instead of the request: messages as objects with `role` and `content`"


class Descriptions(CompiledStateGraph[Any, Context, Any, Any]):
    """Descriptions of a graph for people, for Studio and for other agents."""

    profile: Profile

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """Return the drawing, with the labels of all conditional edges."""
        return with_all_labels(super().get_graph(config, xray=xray), self.builder)

    async def aget_graph(
        self, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Graph:
        """Return the drawing, as `get_graph`."""
        return with_all_labels(await super().aget_graph(config, xray=xray), self.builder)

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:  # noqa: ARG002
        """Return the model of the input as `as_tool` shows it: short, and nothing is required."""
        return input_model(self.builder.input_schema, str(self.name))

    def as_tool(self, args_schema: Any = None, **options: Any) -> BaseTool:
        """Return the agent as a tool, whose text is the answer of a run.

        Takes the arguments of `Runnable.as_tool`.
        """
        name = options.get("name") or str(self.name)
        description = options.get("description") or self.profile.description
        return build_agent_tool(self, args_schema or self.get_input_schema(), name, description)

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the JSON schema of the input, without the status, which `astream` adds."""
        schema = super().get_input_jsonschema(config)
        schema.get("properties", {}).pop("status", None)
        return {**schema, "title": "Input", "description": str(AgentInput.__doc__)}


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


def build_agent_tool(
    graph: Runnable[Any, Any], schema: type[BaseModel], name: str, description: str
) -> BaseTool:
    """Return a tool that runs a graph.

    Its text is the answer of the run; the artifact is the whole result, which no model sees.
    """

    async def run(config: RunnableConfig, **values: Any) -> tuple[str, Any]:
        result = await graph.ainvoke(_without_none(values), config)
        return str(result["output"]), result

    def run_sync(config: RunnableConfig, **values: Any) -> tuple[str, Any]:
        result = graph.invoke(_without_none(values), config)
        return str(result["output"]), result

    return StructuredTool.from_function(
        run_sync,
        coroutine=run,
        name=name,
        description=description,
        args_schema=schema,
        response_format="content_and_artifact",
    )


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
