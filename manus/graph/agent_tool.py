"""An agent as a tool of another agent: it takes a request and returns the answer."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel


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
