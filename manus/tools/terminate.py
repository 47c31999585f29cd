"""`terminate`: let the model end the run."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Observation

TERMINATE = "terminate"


class TerminateArgs(Arguments):
    """Arguments of `terminate`."""

    status: Literal["success", "failure"] = Field(
        description="`success` if everything requested is done"
    )
    answer: str = Field(
        "",
        description="Results, figures, files, what is missing",
    )


def get_answer(args: dict[str, Any]) -> str:
    """Return the answer in the arguments of a call, under any of its aliases."""
    return str(TerminateArgs.tidy(args).get("answer") or "").strip()


class Terminate(AgentTool):
    """The tool that ends the run."""

    name: str = TERMINATE
    description: str = (
        "End the run when everything requested is done, or when you are sure that you cannot "
        "continue. `answer`, or the text beside the call, is all that the user reads."
    )
    args_schema: type[BaseModel] = TerminateArgs
    without_effect: ClassVar[bool] = True
    success_claim: ClassVar[tuple[str, str] | None] = ("status", "success")

    @override
    async def observe(self, status: str, **_: Any) -> Observation:
        return Observation(f"The run ends with {status}.")
