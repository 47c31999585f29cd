"""The actions of the chat page: read a thread, send, answer, stop, resume, fork."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from langgraph.types import Interrupt

from manus.config.run_settings import resolve_settings
from manus.config.settings import Settings
from manus.graph.attachments import build_input
from manus.graph.outcome import get_subject, is_for_model_server
from manus.graph.profiles import all_profiles
from manus.pages.report.page import render_page
from manus.pages.trace.model import TraceRun
from manus.pages.trace.reading import read_trace
from manus.pages.ui.active_jobs import ActiveJobs
from manus.pages.ui.questions import build_fields, list_choices
from manus.pages.ui.uploads import attach_uploads
from manus.runs import messages
from manus.runs.configuration import (
    CONSEQUENCE,
    QUESTION,
    build_context,
    check_model,
    check_workspace,
    decide,
    is_undecided,
    resolve_workspace,
    select_main_endpoint,
)
from manus.runs.jobs import Job, create_job, create_resume_job, read_outcome
from manus.runs.options import RunOptions
from manus.runs.time_travel import describe_rewound, rewind_to_checkpoint
from manus.sandbox.availability import describe_sandbox
from manus.sandbox.environment.report import report_tools
from manus.state.endings import OVER, RUNNING
from manus.state.errors import StorageError, ToolError, UsageError
from manus.state.request import Request, typed_request
from manus.threads.base import Store
from manus.threads.deletion import delete_thread
from manus.threads.history import read_fingerprint
from manus.threads.pictures import read_picture
from manus.threads.records.inbox import InboxMessage
from manus.threads.serializer import DecodedValues
from manus.threads.thread_list import (
    Thread,
    add_worker,
    describe_damaged,
    is_being_worked_on,
    read_thread,
    read_threads,
    rename_thread,
)
from manus.tools.mcp.references import resolve_references
from manus.workspace.text_files import read_file
from manus.workspace.workspace import Workspace

_TRUST = "trust"
"""Id of the question whether to trust the files in the folder."""
_MAX_LISTED = 100
"""Threads."""
State = Literal["new", "running", "waiting", "early", "ended"]
"""State of a thread. `running`: in this process; `early`: ended, but can be resumed."""


class PageBackend:
    """Renders the threads of a store as chat pages and executes the actions of the page."""

    def __init__(self, store: Store, settings: Settings, args: RunOptions) -> None:
        self._store = store
        self._settings = settings
        self._args = replace(args, interactive=True, chat=True)
        self.jobs = ActiveJobs(store)
        self._decoded = DecodedValues()
        """Decoded values of the last shown thread, whose page is reread at each change."""
        self._decoded_thread = ""
        self._renamed = 0
        """How many threads were renamed."""
        self._untrusted: set[Path] = set()
        """Folders whose question of trust was not answered with yes; it is not asked again."""

    async def version(self, thread: str) -> str:
        """Return a hash that changes whenever the page does."""
        fingerprint = await read_fingerprint(self._store, thread)
        jobs = self.jobs
        # a killed process leaves no trace of its end in the store
        running = await self._is_running(thread)
        live = (running, jobs.waits(thread), jobs.problems.get(thread), jobs.starting.get(thread))
        trust = await self._trust_question(thread)
        inbox = [(item.id, item.reader) for item in await messages.read_inbox(self._store, thread)]
        content = (
            fingerprint,
            live,
            self._renamed,
            trust,
            inbox,
            await self._store.recent(_MAX_LISTED),
        )
        return hashlib.sha256(repr(content).encode()).hexdigest()[:24]

    async def page(self, thread: str, version: str, window: int) -> tuple[str, str]:
        """Return the chat page of a thread with its newest steps, and its security policy."""
        state, questions = await self._state(thread)
        threads = await self._list_threads()
        is_elsewhere = state in ("early", "ended") and await self._is_running(thread)
        return await self._page(
            "ui",
            thread,
            version=version,
            window=window,
            threads=threads,
            title=next((each.request for each in threads if each.thread_id == thread), ""),
            standing="elsewhere" if is_elsewhere else state,
            starting=self.jobs.starting.get(thread, ""),
            was_stopped=thread in self.jobs.stopped,
            profiles=await asyncio.to_thread(all_profiles),
            settings=self._settings,
            selected=self._args,
            inbox=await messages.read_inbox(self._store, thread),
            asked=[(q.id, get_subject(q), list_choices(q), build_fields(q)) for q in questions],
            trust=await self._trust_question(thread),
            problem=self.jobs.problems.get(thread, ""),
            workspace=await asyncio.to_thread(self._workspace_info),
        )

    async def _list_threads(self) -> list[Thread]:
        threads = []
        names = await self._store.recent(_MAX_LISTED)
        async for thread_id, thread in read_threads(self._store, names):
            if isinstance(thread, StorageError):  # must not hide the others
                threads.append(await describe_damaged(self._store, thread_id))
            elif thread is not None and self.jobs.is_at_work(thread_id):
                threads.append(replace(thread, status=RUNNING))
            elif thread is not None and self.jobs.waits(thread_id):
                threads.append(thread)
            elif thread is not None:
                threads.append(await add_worker(self._store, thread))
        return threads

    async def delete(self, thread: str) -> None:
        """Delete a thread with its records; the files of its workspace stay.

        Raises:
            ManusError: a run is working on it, or something cannot be deleted.
        """
        async with self._store.hold(thread):
            await delete_thread(self._store, thread)
        await self._store.reclaim_space()

    async def set_title(self, thread: str, title: str) -> None:
        """Give a thread another title, as `rename_thread`."""
        await rename_thread(self._store, thread, title)
        self._renamed += 1

    async def report(self, thread: str, version: str, _window: int) -> tuple[str, str]:
        """Return the live report of a thread and its content security policy."""
        return await self._page("page", thread, version=version)

    async def _page(self, kind: str, thread: str, **values: Any) -> tuple[str, str]:
        is_running = await self._is_running(thread)
        if thread != self._decoded_thread:
            self._decoded_thread = thread
            self._decoded = DecodedValues()
        runs = await read_trace(self._store, thread, is_running=is_running, decoded=self._decoded)
        if "inbox" in values:
            values["unread"] = _select_pending(values.pop("inbox"), runs)
        return await asyncio.to_thread(
            render_page, kind, thread, runs, self._store.location, **values
        )

    async def picture(self, thread: str, name: str) -> bytes:
        """Return a picture of a step; empty if it does not exist."""
        records = Workspace(await self._folder(thread)).records
        return await asyncio.to_thread(read_picture, records, name) or b""

    async def file(self, thread: str, path: str) -> bytes:
        """Return the content of a file in a thread's workspace.

        Raises:
            UsageError: the file is missing or cannot be read.
        """
        stored = await read_thread(self._store, thread)
        if stored is None or stored.workspace is None:
            raise UsageError("The thread has no workspace yet.")
        workspace = Workspace(stored.workspace)
        try:
            return await asyncio.to_thread(lambda: read_file(workspace.readable(path), path))
        except (ToolError, OSError) as error:
            raise UsageError(f"Cannot read {path}: {error}") from None

    async def send(
        self,
        thread: str,
        text: str,
        files: Sequence[tuple[str, bytes]],
        *,
        plans: bool = False,
        queue: bool = False,
        at: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Send a request, the answer to the open question, or a message to a running agent.

        The agent reads it at its next step; with `queue` it is the next request after the run. `at`
        is the id of a checkpoint to fork from; files are restored too. `options` are the model,
        profile and approval mode of a new run, where they differ from those of the server.

        Raises:
            ManusError: the request cannot be started.
        """
        _, questions = await self._state(thread)
        if questions and not at:
            await self.answer(thread, {questions[0].id: text})
            return
        existing = await read_thread(self._store, thread)
        if not at and await self._is_running(thread):
            await self._send_meanwhile(thread, existing, text, files, queue=queue)
            return
        kind = "flow" if plans else "agent"
        if existing is not None:
            kind = existing.kind
        selected: Any = {name: value for name, value in (options or {}).items() if value}
        args = replace(self._args, **selected)
        if existing is not None and "profile" not in selected:
            args = replace(args, profile=None)
        check_model(select_main_endpoint(self._settings, args.model))
        request, images = await self._upload_files(existing, text.strip(), files)
        if not request:
            raise UsageError("The request is empty; type what to do.")
        request = await resolve_references(request, self._settings, await self._folder(thread))
        graph_input = await asyncio.to_thread(build_input, request, images)
        mode = resolve_settings(self._settings, build_context(args)).approve.mode
        args = replace(args, approve_plan=kind == "flow" and mode != "refuse")

        async def create() -> Job:
            return await create_job(
                kind, thread, request.text, graph_input, args, self._settings, self._store
            )

        await self._start(thread, existing, create, at, request.text)

    async def _start(
        self,
        thread: str,
        existing: Thread | None,
        create: Callable[[], Awaitable[Job]],
        at: str | None,
        request: str,
    ) -> None:
        """Start a job, from the checkpoint `at` if there is one."""
        notices: list[str] = []

        async def prepare() -> Job:
            checkpoint = at
            if at and existing is not None:
                rewound = await rewind_to_checkpoint(self._store, existing, at)
                if rewound is not None:
                    notices.extend(describe_rewound(rewound, self._settings.currency))
                    checkpoint = None
            return replace(await create(), checkpoint_id=checkpoint)

        await self.jobs.start(thread, prepare, request)
        if notices:
            self.jobs.notify(thread, " ".join(notices))

    async def _send_meanwhile(
        self,
        thread: str,
        existing: Thread | None,
        text: str,
        files: Sequence[tuple[str, bytes]],
        *,
        queue: bool,
    ) -> None:
        """Store a message to an active run; if it has ended in the meantime, start a new one.

        Raises:
            ManusError: the message is empty, or a file cannot be saved.
        """
        request, _ = await self._upload_files(existing, text.strip(), files)
        await messages.send(self._store, thread, request, queue=queue)
        if not await self._is_running(thread):
            await self.resume(thread)

    async def withdraw(self, thread: str, message_id: str) -> None:
        """Withdraw a message that is unread.

        Raises:
            UsageError: it was already read.
        """
        await messages.withdraw(self._store, thread, message_id)

    async def answer(self, thread: str, answers: Mapping[str, str]) -> None:
        """Answer questions by their ids.

        Raises:
            ManusError: a question is not open, or the run cannot be resumed.
        """
        if _TRUST in answers:
            folder = await self._folder(thread)
            if answers[_TRUST] != "yes":
                self._untrusted.add(folder)
            if answers[_TRUST] != "later":
                await asyncio.to_thread(decide, folder, trusted=answers[_TRUST] == "yes")
        elif not self.jobs.answer(thread, answers):
            await self.resume(thread, answers)

    async def resume(self, thread: str, answers: Mapping[str, str] | None = None) -> None:
        """Resume a paused run, with answers by question id.

        Raises:
            ManusError: the run cannot be resumed.
        """
        args = replace(self._args, profile=None)

        await self.jobs.start(
            thread, lambda: create_resume_job(thread, args, self._settings, self._store, answers)
        )

    async def _upload_files(
        self, existing: Thread | None, text: str, files: Sequence[tuple[str, bytes]]
    ) -> tuple[Request, list[Path]]:
        """Put files into the workspace; return the request that names them, and the images."""
        if not files:
            return typed_request(text), []
        context = build_context(
            self._args, **({"workspace": existing.workspace} if existing else {})
        )
        root = await asyncio.to_thread(check_workspace, self._settings, context)
        return await asyncio.to_thread(attach_uploads, Workspace(root), text, files)

    async def _folder(self, thread: str) -> Path:
        """Return the workspace of a thread, which may not exist yet."""
        stored = await read_thread(self._store, thread)
        if stored is not None and stored.workspace:
            return Path(stored.workspace)
        return await asyncio.to_thread(self._new_folder)

    async def _trust_question(self, thread: str) -> str:
        """Return the question whether to trust the folder; empty if it was answered.

        A run is not interrupted by it: the agent may change the files that trust is about.
        """
        folder = await self._folder(thread)
        if folder in self._untrusted or thread in self.jobs:
            return ""
        is_open = await asyncio.to_thread(is_undecided, folder)
        return f"{QUESTION}\n\n{folder}\n\n{CONSEQUENCE}" if is_open else ""

    def _new_folder(self) -> Path:
        """Return the workspace of a new thread. Blocking."""
        return Path(resolve_workspace(self._settings, self._args.workspace)).expanduser().resolve()

    def _workspace_info(self) -> str:
        """Describe the workspace of a new thread, its sandbox and hidden tools. Blocking."""
        root = self._new_folder()
        sandbox = self._settings.sandbox
        hidden_tools = report_tools(root, sandbox).describe().rstrip(".")
        info = f"{root} ({describe_sandbox(sandbox, root)})"
        return f"{info}. {hidden_tools}" if hidden_tools else info

    async def _is_running(self, thread: str) -> bool:
        """Return whether a run is in progress, here or in another process."""
        if self.jobs.waits(thread):
            return False
        return self.jobs.is_at_work(thread) or await is_being_worked_on(self._store, thread)

    async def _state(self, thread: str) -> tuple[State, Sequence[Interrupt]]:
        """Return the state of a thread and its open questions."""
        if self.jobs.is_at_work(thread):
            return "running", ()
        stored = await read_thread(self._store, thread)
        if stored is None:
            return "new", ()
        if stored.status in OVER:
            return "ended", ()
        outcome = await read_outcome(self._store, stored)
        questions = [
            question for question in outcome.questions if not is_for_model_server(question)
        ]
        if questions:
            return "waiting", questions
        return "early" if outcome.can_resume else "ended", ()


def _select_pending(inbox: Sequence[InboxMessage], runs: Sequence[TraceRun]) -> list[InboxMessage]:
    """Return the messages that are unread, or read in a step of which no checkpoint exists yet."""
    visible_ids = set().union(*(run.message_ids for run in runs))
    pending = []
    for message in inbox:
        is_being_read = message.kind == "steer" and message.id not in visible_ids
        if message.reader is None or is_being_read:
            pending.append(message)
    return pending
