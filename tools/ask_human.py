"""`ask_human`: a question to the person, answered now or in a week."""

from __future__ import annotations

from typing import Any, ClassVar

from langgraph.types import interrupt
from pydantic import BaseModel, Field
from typing_extensions import override

from manus.tools.base import AgentTool, Arguments
from manus.tools.decisions import hitl_question
from manus.tools.result import Observation


class AskHumanArgs(Arguments):
    """Arguments of `ask_human`."""

    inquire: str = Field(description="The question, with all that is needed to answer it")


class AskHuman(AgentTool):
    """Asks the person; the run waits as long as it takes."""

    name: str = "ask_human"
    description: str = (
        "Ask the person a question and wait for the answer. Use it when only they can decide or "
        "know, not for what you can find out yourself."
    )
    args_schema: type[BaseModel] = AskHumanArgs
    without_effect: ClassVar[bool] = True

    @override
    async def observe(self, inquire: str, **_: Any) -> Observation:
        args = {"inquire": inquire}
        asked = hitl_question("question", self.name, args, inquire, ["respond"])
        return Observation(_said(interrupt(asked)))


def _said(answer: Any) -> str:
    """The answer in words; of chat UIs it is the message of a decision."""
    match answer:
        case {"decisions": [{"message": str(message)}]}:
            return message
    return str(answer)
