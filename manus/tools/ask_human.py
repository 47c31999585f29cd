"""`ask_human`: ask the user a question; the answer may come much later."""

from __future__ import annotations

import asyncio
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
from manus.prompts import browser as prompts
from manus.workspace.safe_open import write_private

ASK_HUMAN = "ask_human"
_BROWSER = "browser"
PICTURE = "page.jpeg"
"""The picture of the page that the newest question shows, in the records of the workspace."""


class AskHumanArgs(Arguments):
    """Arguments of `ask_human`."""

    inquire: str = Field(description="The question, with everything needed to answer it")


class AskHuman(AgentTool):
    """The tool that asks the user a question; the run pauses until the answer."""

    name: str = ASK_HUMAN
    description: str = (
        "Ask the user a question and wait for the answer, if only they can decide it or know it; "
        "also to hand them the browser's page for a sign-in, a one-time code or a captcha."
    )
    args_schema: type[BaseModel] = AskHumanArgs
    without_effect: ClassVar[bool] = True

    @override
    async def observe(self, inquire: str, **_: Any) -> Observation:
        # the empty `answer` is the text field of chat UIs without the decision `respond`
        args = {"inquire": inquire, "answer": ""}
        page = await self._show_page()
        text = f"{inquire}\n\n{page}" if page else inquire
        question = hitl_question(QUESTION, self.name, args, text, ["respond", "edit", "reject"])
        return _read_answer(ask_person(self.session, question), inquire)

    async def _show_page(self) -> str:
        """Return where the user sees the browser's page; empty if no page is open.

        A picture is stored, since the answer may come after the browser was closed.
        """
        browser = self.session.peek(_BROWSER)
        if browser is None:
            return ""
        # it was imported when the browser was opened
        from manus.tools.browser.state import take_picture

        picture = await take_picture(self.session)
        if not picture:
            return ""
        path = self.session.workspace.records / PICTURE
        await asyncio.to_thread(write_private, path, picture)
        is_window = not self.session.settings.browser.headless
        return prompts.shown_page(browser.active.page.url, str(path), is_window=is_window)


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
