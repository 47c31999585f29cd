"""Dialogs of pages: answered by policy, since a page with an open one is dead to everything."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Literal

from playwright.async_api import Dialog
from playwright.async_api import Error as PlaywrightError

from manus.tools.browser.log import Log
from manus.tools.browser.tab import Tab

_TOO_MANY = 15

Policy = Literal["dismiss", "accept", "ask"]


@dataclass(slots=True)
class OpenQuestion:
    """A dialog that waits for a person."""

    dialog: Dialog
    tab: Tab

    @property
    def text(self) -> str:
        """The question as the person reads it."""
        kind = "asks to confirm" if self.dialog.type == "confirm" else "asks"
        hint = " Answer yes or no." if self.dialog.type == "confirm" else ""
        return f"The page {self.tab.page.url} {kind}: {_said(self.dialog)}{hint}"

    async def answer(self, text: str, log: Log) -> None:
        """Pass on what the person said."""
        word = text.strip().lower().rstrip(".!")
        refuse = word in {"no", "n", "cancel", "dismiss", "nein", "non", ""}
        is_prompt = self.dialog.type == "prompt"
        with contextlib.suppress(PlaywrightError):
            if refuse:
                await self.dialog.dismiss()
            else:
                await self.dialog.accept(text if is_prompt else "")
        done = "dismissed" if refuse else "accepted"
        log.add("dialog", f"{self.dialog.type} {_said(self.dialog)} was {done} by the person.")


async def answer_dialog(dialog: Dialog, tab: Tab, policy: Policy, log: Log) -> OpenQuestion | None:
    """Close a dialog as the policy says; the question if a person is to be asked.

    A page that opens dialogs without end is left with the last one open: closing it would only
    bring the next. The tab's `trouble` says so.
    """
    tab.dialogs += 1
    if tab.dialogs > _TOO_MANY:
        tab.trouble.set()
        return None
    kind, said = dialog.type, _said(dialog)
    if kind in {"confirm", "prompt"} and policy == "ask":
        tab.trouble.set()
        return OpenQuestion(dialog, tab)
    accept = kind in {"alert", "beforeunload"} or policy == "accept"
    with contextlib.suppress(PlaywrightError):
        if accept:
            await dialog.accept(dialog.default_value if kind == "prompt" else "")
        else:
            await dialog.dismiss()
    if kind == "alert":
        log.add("dialog", f"alert {said} was closed.")
    elif kind == "beforeunload":
        log.add("dialog", "The page asked to stay (beforeunload); it was left.")
    else:
        log.add("dialog", f"{kind} {said} was {'accepted' if accept else 'dismissed'} by policy.")
    return None


def _said(dialog: Dialog) -> str:
    text = " ".join(dialog.message.split())
    return '"' + (text if len(text) <= 300 else text[:299] + "…") + '"'
