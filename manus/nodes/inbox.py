"""What a person sends during a run, and is asked between two steps, about files that were held."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite

from manus.calls.approval import APPROVE
from manus.calls.decisions import ask_person, hitl_question, read_answer
from manus.calls.session import Session
from manus.nodes.active_run import ActiveRun
from manus.prompts import approval as prompts
from manus.sandbox.held_files import bring_back, list_unasked, note_asked
from manus.state.errors import UsageError
from manus.state.events import MessageEvent
from manus.state.messages import get_text
from manus.threads.records.thread_inbox import ThreadInbox

_NAME = "bring_back"
_MAX_SHOWN = 2_000
"""Characters of one file in the question."""


async def receive_messages(state: Any, inbox: ThreadInbox | None) -> tuple[Any, list[AnyMessage]]:
    """Return the state with the user's unread messages in its history, and the messages.

    They are new input: a loop before them no longer counts.
    """
    if inbox is None:
        return state, []
    stored = state.get("messages", [])
    received = cast(list[AnyMessage], await inbox.receive(stored))
    if not received:
        return state, []
    changes: dict[str, Any] = {"messages": [*stored, *received]}
    if "loop" in state:
        changes |= {"loop": None, "trail": []}
    return {**state, **changes}, received


def announce_messages(messages: Sequence[AnyMessage], emit: Any) -> None:
    """Emit an event for each user message that the model now reads."""
    for message in messages:
        emit(MessageEvent(type="message", id=str(message.id), text=get_text(message)))


def forget_loop() -> Any:
    """Return the update that restarts loop detection after new input."""
    return {"loop": None, "trail": Overwrite([])}


async def has_unread(state: Any, active_run: ActiveRun) -> bool:
    """Return whether a user message would be left unread at the end of the run."""
    if active_run.inbox is None:
        return False
    return await active_run.inbox.has_unread(state.get("messages", []))


async def ask_about_held_files(session: Session) -> None:
    """Ask whether held files may be in the workspace, and bring them back after a yes.

    Nobody is asked in an unattended run: then `manus held` lists them.

    Raises:
        GraphInterrupt: there is no answer yet.
    """
    if not session.settings.interactive:
        return
    files = await asyncio.to_thread(list_unasked, session.workspace.records)
    if not files:
        return
    texts = {name: await asyncio.to_thread(_read, copy) for name, copy in files.items()}
    answer = problem = ""
    number = 0
    while answer not in ("once", "no"):
        text = prompts.held_files(texts, problem)
        question = hitl_question(
            APPROVE,
            _NAME,
            {"files": list(files)},
            f"{text} Answer `yes` or `no`.",
            ["approve", "reject"],
            call="",
            subject=text,
        )
        answer, problem = read_answer(ask_person(session, question, number), _NAME, scopes=())
        number += 1
    if answer == "once":
        await asyncio.to_thread(_bring_back, session, files)
    await asyncio.to_thread(note_asked, session.workspace.records)


def _read(copy: Path) -> str:
    text = copy.read_bytes()[: _MAX_SHOWN + 1].decode("utf-8", "replace")
    return (
        text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}\n… ({copy.stat().st_size} bytes)"
    )


def _bring_back(session: Session, files: dict[str, Path]) -> None:
    workspace = session.workspace
    for name, copy in files.items():
        content = copy.read_bytes()
        try:
            bring_back(workspace.root, name, copy)
        except UsageError:  # a link, or not writable: it stays held
            continue
        workspace.approved_writes[workspace.root / name] = hashlib.sha256(content).hexdigest()
