"""Descriptions of a graph: its drawing, the schema of its input, and the graph as a tool."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Graph
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel

from manus.config.context import Context
from manus.config.profile import Profile
from manus.graph.agent_tool import build_agent_tool
from manus.graph.input_model import input_model
from manus.graph.routing import with_all_labels
from manus.state.agent import AgentInput


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
