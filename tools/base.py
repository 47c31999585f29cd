"""The base of our tools: a LangChain tool that belongs to one session."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from langchain_core.tools import BaseTool
from pydantic import ConfigDict, Field
from typing_extensions import override

from manus.state.errors import ToolError
from manus.state.watched import is_watched
from manus.tools.arguments import Arguments as Arguments
from manus.tools.locks import EVERYTHING, Resource
from manus.tools.result import Observation
from manus.tools.session import Session


class AgentTool(BaseTool):
    """A tool of one session.

    A subclass gives `name`, `description` and `args_schema` (with a description for each argument)
    and implements `observe`, which returns an `Observation` or raises `ToolError` with a sentence
    that says what was wrong and what would be right.
    """

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    session: Session = Field(exclude=True, repr=False)
    time_limit: ClassVar[float] = 900.0
    """Seconds after which a call is cancelled from outside, whatever its own limit."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:  # noqa: ARG002 - for subclasses
        """What a call touches; calls that touch the same do not run side by side."""
        return frozenset({Resource(EVERYTHING)})

    def read_only(self, args: dict[str, Any]) -> bool:  # noqa: ARG002 - for subclasses
        """Whether a call may be carried out again after a crash because it changes nothing."""
        return False

    async def observe(self, *_: Any, **arguments: Any) -> Observation:
        """Carry out one call with validated arguments."""
        raise NotImplementedError

    def is_direct(self, config: Mapping[str, Any] | None) -> bool:
        """Whether a call needs none of LangChain around it: nobody listens, and nothing is changed.

        In a subclass that has `ainvoke`, `arun` or `_arun` of its own it is asked that way.
        """
        own = type(self)
        unchanged = own.ainvoke is BaseTool.ainvoke and own.arun is BaseTool.arun
        handles = self.callbacks or self.handle_tool_error or self.handle_validation_error
        direct = unchanged and own._arun is AgentTool._arun and not handles
        return direct and not is_watched(config)

    async def observed(self, args: dict[str, Any], call_id: str) -> Observation:
        """What a call gives, as `ainvoke` but for the callbacks.

        Raises:
            ValidationError: the arguments do not fit.
        """
        _, arguments = self._to_args_and_kwargs(args, call_id)
        return await self.observe(**arguments)

    @override
    async def _arun(self, **arguments: Any) -> tuple[Any, Observation]:
        observation = await self.observe(**arguments)
        return observation.content(), observation

    @override
    def _run(self, **arguments: Any) -> tuple[Any, Observation]:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._once(**arguments))
        raise ToolError(f"`{self.name}` is asynchronous: use `ainvoke` inside an event loop.")

    async def _once(self, **arguments: Any) -> tuple[Any, Observation]:
        """A call on a loop of its own, with which a shell or a browser that it began must end."""
        before = self.session.live()
        try:
            return await self._arun(**arguments)
        finally:
            await self.session.release(keep=before)
