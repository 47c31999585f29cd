"""The base of our tools: a LangChain tool that belongs to one session."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import override

from manus.state.errors import ToolError
from manus.state.watched import is_watched
from manus.tools.arguments import Arguments as Arguments
from manus.tools.foreign import as_observation, exit_error
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

    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:  # noqa: ARG002
        """What a call uses; calls that use the same do not run side by side."""
        return frozenset({Resource(EVERYTHING)})

    def read_only(self, args: dict[str, Any]) -> bool:  # noqa: ARG002
        """Whether a call may be carried out again after a crash because it changes nothing."""
        return False

    async def observe(self, *_: Any, **arguments: Any) -> Observation:
        """Carry out one call with validated arguments."""
        raise NotImplementedError

    async def answer(
        self, args: Mapping[str, Any], call_id: str, config: RunnableConfig | None
    ) -> Observation:
        """What a call gives; without LangChain around it where nobody listens.

        Raises:
            ValidationError: the arguments do not fit.
        """
        if self.callbacks or is_watched(config):
            call = {"type": "tool_call", "id": call_id, "name": self.name, "args": dict(args)}
            return as_observation(await self.ainvoke(call, config))
        schema = self.args_schema
        if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            return await self.observe(**args)
        given = schema.model_validate(dict(args))
        return await self.observe(**{name: getattr(given, name) for name in schema.model_fields})

    @override
    async def _arun(self, **arguments: Any) -> tuple[Any, Observation]:
        try:
            observation = await self.observe(**arguments)
        except SystemExit as error:  # asyncio would end the loop: LangChain runs it in a task
            raise exit_error(error) from error
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
