"""What a person does with a thread on the page: read it, say something, answer, stop, go back."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from langgraph.types import Interrupt

from manus.config.settings import Settings
from manus.execution.environment.report import report_tools
from manus.execution.sandbox.sandbox import wall_in_words
from manus.execution.text_files import image_type, read_file
from manus.execution.workspace import Workspace
from manus.graph.inputs import keep_upload
from manus.graph.outcome import draft_of_change, is_of_model, subject_of
from manus.pages.report.page import render_page
from manus.pages.trace.reading import read_trace
from manus.pages.ui.sessions import Sessions
from manus.runs.attachments import Request, build_input, typed_request
from manus.runs.configuration import build_context, check_model, check_workspace, resolve_workspace
from manus.runs.folder_trust import CONSEQUENCE, QUESTION, decide, is_undecided
from manus.runs.jobs import ENDED_EARLY, Job, create_job, create_resume_job, read_outcome
from manus.runs.options import RunOptions
from manus.state.errors import ToolError, UsageError
from manus.store.base import Store
from manus.store.history import read_fingerprint
from manus.store.threads import Thread, is_being_worked_on, read_thread

_TRUST = "trust"
"""In place of a question's id: the one about the files of the folder."""
_LISTED = 40
"""Threads in the list."""
_CHOICES = {
    "approve": {
        "yes": "Yes",
        "run": "Yes, for this run",
        "always": "Always in this folder",
        "no": "No",
    },
    "plan": {"yes": "Approve the plan", "cancel": "Cancel"},
}
"""Answers that are a button, by the kind of the question."""


State = Literal["new", "running", "waiting", "early", "ended"]
"""What can be done with a thread. `running`: in this process; `early`: it could go on."""


class Conversation:
    """Threads of a store, as the page shows them and acts on them."""

    def __init__(self, store: Store, settings: Settings, args: RunOptions) -> None:
        self._store = store
        self._settings = settings
        self._args = replace(args, interactive=True, chat=True)
        self.sessions = Sessions(store)

    async def version(self, thread: str) -> str:
        """What differs where the page does."""
        mark = await read_fingerprint(self._store, thread)
        runs = self.sessions
        # the end of a process that is killed leaves nothing in the store
        live = await self._is_running(thread), runs.waits(thread), runs.problems.get(thread)
        trust = await self._trust_question(thread)
        known = mark, live, trust, await self._store.recent(_LISTED)
        return hashlib.sha256(repr(known).encode()).hexdigest()[:24]

    async def page(self, thread: str) -> tuple[str, str]:
        """The page of a thread, and its content security policy."""
        state, asked = await self._stand(thread)
        listed = [await read_thread(self._store, one) for one in await self._store.recent(_LISTED)]
        return await self._page(
            "ui",
            thread,
            threads=[one for one in listed if one is not None],
            standing=state,
            asked=[(q.id, subject_of(q), _choices(q), draft_of_change(q)) for q in asked],
            trust=await self._trust_question(thread),
            problem=self.sessions.problems.get(thread, ""),
            workspace=await asyncio.to_thread(self._where),
        )

    async def report(self, thread: str) -> tuple[str, str]:
        """The thread as `manus report` writes it, following it; and its policy."""
        return await self._page("page", thread)

    async def _page(self, kind: str, thread: str, **more: Any) -> tuple[str, str]:
        is_running = await self._is_running(thread)
        runs = await read_trace(self._store, thread, is_running=is_running)
        return await asyncio.to_thread(
            render_page, kind, thread, runs, self._store.location, **more
        )

    async def file(self, thread: str, path: str) -> bytes:
        """A file of a thread's workspace.

        Raises:
            UsageError: there is none that may be read.
        """
        known = await read_thread(self._store, thread)
        if known is None or known.workspace is None:
            raise UsageError("The thread has no workspace yet.")
        workspace = Workspace(known.workspace)
        try:
            return await asyncio.to_thread(lambda: read_file(workspace.readable(path), path))
        except (ToolError, OSError) as error:
            raise UsageError(f"{path} cannot be read: {error}") from None

    async def send(
        self,
        thread: str,
        text: str,
        files: Sequence[tuple[str, bytes]],
        *,
        plans: bool = False,
        at: str | None = None,
    ) -> None:
        """Say something: a request, or the answer to an open question.

        `at` is the checkpoint to go back to before.

        Raises:
            ManusError: it cannot be worked on.
        """
        _, asked = await self._stand(thread)
        if asked and not at:
            await self.answer(thread, {asked[0].id: text})
            return
        known = await read_thread(self._store, thread)
        kind = known.kind if known else "flow" if plans else "agent"
        check_model(self._settings.for_role("main").at(self._args.model, None))
        request, images = await self._with_files(known, text.strip(), files)
        if not request:
            raise UsageError("There is no request; say what is to be done.")
        given = await asyncio.to_thread(build_input, request, images)
        profile = self._args.profile if known is None else None
        mode = self._args.approve or self._settings.approve.mode
        approve_plan = kind == "flow" and mode != "refuse"
        args = replace(self._args, profile=profile, approve_plan=approve_plan)

        async def prepare() -> Job:
            job = await create_job(
                kind, thread, request.text, given, args, self._settings, self._store
            )
            return replace(job, checkpoint_id=at)

        await self.sessions.begin(thread, prepare)

    async def answer(self, thread: str, answers: Mapping[str, str]) -> None:
        """Answer questions by their ids.

        Raises:
            ManusError: they are not open, or the run cannot go on.
        """
        if _TRUST in answers:
            folder = await self._folder(thread)
            await asyncio.to_thread(decide, folder, trusted=answers[_TRUST] == "yes")
        elif not self.sessions.answer(thread, answers):
            await self.resume(thread, answers)

    async def resume(self, thread: str, answers: Mapping[str, str] | None = None) -> None:
        """Go on with a run that was stopped, or waits for answers to questions of these ids.

        Raises:
            ManusError: the run cannot go on.
        """
        args = replace(self._args, profile=None)

        await self.sessions.begin(
            thread, lambda: create_resume_job(thread, args, self._settings, self._store, answers)
        )

    async def _with_files(
        self, known: Thread | None, text: str, files: Sequence[tuple[str, bytes]]
    ) -> tuple[Request, list[Path]]:
        """Put files into the workspace; return the request that names them, and the pictures."""
        if not files:
            return typed_request(text), []
        context = build_context(self._args, **({"workspace": known.workspace} if known else {}))
        root = await asyncio.to_thread(check_workspace, self._settings, context)
        workspace = Workspace(root)
        names = await asyncio.to_thread(_keep_uploads, workspace, files)
        pictures = [
            workspace.root / name
            for name, (_, data) in zip(names, files, strict=True)
            if image_type(data)
        ]
        named = f"{text}\n\nAttached, in the workspace: {', '.join(names)}".strip()
        return Request(named, text, is_tainted=True), pictures

    async def _folder(self, thread: str) -> Path:
        """Return the workspace of a thread, which may be new."""
        known = await read_thread(self._store, thread)
        if known is not None and known.workspace:
            return Path(known.workspace)
        return await asyncio.to_thread(self._new_folder)

    async def _trust_question(self, thread: str) -> str:
        """Return the question about the files of a folder of which nobody has said anything."""
        folder = await self._folder(thread)
        is_open = await asyncio.to_thread(is_undecided, folder)
        return f"{QUESTION}\n\n{folder}\n\n{CONSEQUENCE}" if is_open else ""

    def _new_folder(self) -> Path:
        """Return the workspace of a new thread. Blocking."""
        return Path(resolve_workspace(self._settings, self._args.workspace)).expanduser().resolve()

    def _where(self) -> str:
        """Return the workspace of a new thread, its sandbox and what it hides. Blocking."""
        root = self._new_folder()
        chosen = self._settings.sandbox
        said = report_tools(root, chosen).in_words().rstrip(".")
        return f"{root} ({wall_in_words(chosen, root)})" + (f". {said}" if said else "")

    async def _is_running(self, thread: str) -> bool:
        """Whether a run is under way, here or in another process."""
        if self.sessions.waits(thread):
            return False
        return self.sessions.is_at_work(thread) or await is_being_worked_on(self._store, thread)

    async def _stand(self, thread: str) -> tuple[State, Sequence[Interrupt]]:
        """What can be done with a thread, and the questions that it waits with."""
        if self.sessions.is_at_work(thread):
            return "running", ()
        known = await read_thread(self._store, thread)
        if known is None:
            return "new", ()
        outcome = await read_outcome(self._store, known)
        if asked := [q for q in outcome.questions if not is_of_model(q)]:
            return "waiting", asked
        may_go_on = outcome.stop_reason in (None, "interrupted", *ENDED_EARLY)
        return "early" if may_go_on else "ended", ()


def _choices(question: Interrupt) -> dict[str, str]:
    kind = question.value.get("kind") if isinstance(question.value, dict) else None
    return _CHOICES.get(str(kind), {})


def _keep_uploads(workspace: Workspace, files: Sequence[tuple[str, bytes]]) -> list[str]:
    """Return each file's path in the workspace, written where it is not there yet. Blocking.

    Raises:
        UsageError: a file cannot be written.
    """
    paths = []
    for name, data in files:
        try:
            paths.append(keep_upload(name, data, workspace))
        except (ToolError, OSError) as error:
            raise UsageError(f"{name} cannot be put into the workspace: {error}") from None
    return paths
