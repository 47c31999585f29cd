"""`ask_human`: ask the user a question; the answer may come much later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.decisions import (
    QUESTION,
    ask_person,
    get_message,
    hitl_question,
    single_decision,
)
from manus.calls.result import Image, Observation

ASK_HUMAN = "ask_human"


class AskHumanArgs(Arguments):
    """Arguments of `ask_human`."""

    inquire: str = Field(description="The question, with everything needed to answer it")


class AskHuman(AgentTool):
    """The tool that asks the user a question; the run pauses until the answer."""

    name: str = ASK_HUMAN
    description: str = (
        "Ask the user a question and wait for the answer, if only they can decide it or know it."
    )
    args_schema: type[BaseModel] = AskHumanArgs
    without_effect: ClassVar[bool] = True

    @override
    async def observe(self, inquire: str, **_: Any) -> Observation:
        # the empty `answer` is the text field of chat UIs without the decision `respond`
        args = {"inquire": inquire, "answer": ""}
        question = hitl_question(QUESTION, self.name, args, inquire, ["respond", "edit", "reject"])
        return _read_answer(ask_person(self.session, question), inquire)


def _read_answer(answer: Any, inquire: str) -> Observation:
    """Return the answer as an observation, with its images."""
    decision = single_decision(answer)
    if not isinstance(decision, Mapping):
        return Observation(str(answer))
    images = tuple(Image(i["base64"], i["mime_type"]) for i in decision.get("images", ()))
    action = decision.get("edited_action")
    if isinstance(action, Mapping):
        return Observation(_read_edited(action.get("args"), inquire), images)
    return Observation(get_message(decision), images)


def _read_edited(args: Any, inquire: str) -> str:
    """Return the answer typed into `answer`, or into `inquire` below or instead of the question."""
    fields = args if isinstance(args, Mapping) else {}
    if answer := str(fields.get("answer") or ""):
        return answer
    return str(fields.get("inquire") or "").removeprefix(inquire).strip()
