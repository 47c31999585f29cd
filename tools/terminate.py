"""`terminate`: the model says that the run is over."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.tools.base import AgentTool, Arguments
from manus.tools.locks import Resource
from manus.tools.result import Observation


class TerminateArgs(Arguments):
    """Arguments of `terminate`."""

    status: Literal["success", "failure"] = Field(
        description="`success` if everything asked for is done, else `failure`"
    )


class Terminate(AgentTool):
    """Ends the run."""

    name: str = "terminate"
    description: str = (
        "End the run. Call it when everything that was asked for is done, or when you are sure "
        "that you cannot go on; say in the text beside the call what came of it."
    )
    args_schema: type[BaseModel] = TerminateArgs

    @override
    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        return frozenset()

    @override
    def read_only(self, args: dict[str, Any]) -> bool:
        return True

    @override
    async def observe(self, status: str, **_: Any) -> Observation:
        return Observation(f"The run ends with {status}.")
