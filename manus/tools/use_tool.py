"""`use_tool`: describe a tool on demand, or read a skill.

A call with arguments for a tool is converted to a call of that tool before it is executed
(`manus/calls/on_demand.py`), so only other calls arrive here.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.catalog import USE_TOOL
from manus.calls.result import Observation
from manus.prompts import on_demand as prompts
from manus.state.errors import ToolError
from manus.tools.skill import SKILL, ReadSkill


class UseToolArgs(Arguments):
    """Arguments of `use_tool`."""

    name: str = Field(description=prompts.NAME)
    arguments: dict[str, Any] | None = Field(None, description=prompts.ARGUMENTS)


class UseTool(AgentTool):
    """The tool that describes tools on demand, or reads a skill."""

    name: str = USE_TOOL
    description: str = "Describe a tool, or call it with `arguments`."
    args_schema: type[BaseModel] = UseToolArgs
    catalog: Any = Field(None, exclude=True, repr=False)
    without_effect: ClassVar[bool] = True

    @override
    async def observe(self, name: str, **_: Any) -> Observation:
        tool = self.catalog.find(name)
        if tool is None or tool.name == USE_TOOL:
            return await self._read_skill(name)
        return Observation(self.catalog.describe(tool))

    async def _read_skill(self, name: str) -> Observation:
        """Return the text of a skill, which may be named instead of a tool."""
        unknown = self.catalog.explain_unknown(name)
        reader = self.catalog.find(SKILL)
        if not isinstance(reader, ReadSkill):
            raise ToolError(unknown)
        try:
            return await reader.observe(name)
        except ToolError as error:
            raise ToolError(f"{unknown} {error}") from None
