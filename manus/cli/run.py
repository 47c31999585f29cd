"""Run a job at the terminal, from opening the store to the final report."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import shlex
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from langgraph.types import Command

from manus.cli import output as report
from manus.cli.composer import Composer
from manus.cli.progress import Progress
from manus.cli.questions import ask_all, ask_for_more_steps
from manus.cli.screen import Screen
from manus.config.settings import Settings
from manus.graph.attachments import attach_files, find_mentioned_files
from manus.graph.outcome import Outcome, build_outcome
from manus.graph.state_update import reopen
from manus.models.tokens import get_window
from manus.prompts.formatting import count, in_words
from manus.runs import messages
from manus.runs.configuration import select_main_endpoint
from manus.runs.jobs import Job, extend_steps, run_job
from manus.runs.options import RunOptions
from manus.runs.signals import StopSignals
from manus.sandbox.availability import describe_sandbox
from manus.sandbox.environment.report import report_tools
from manus.state.endings import RunStatus, StopReason
from manus.state.errors import StorageUnavailableError
from manus.state.request import own_words, typed_request
from manus.state.usage import Usage, no_usage
from manus.threads.base import Store
from manus.threads.open_store import open_store
from manus.threads.records.inbox import InboxMessage
from manus.threads.thread_list import find_thread

log = logging.getLogger("manus.cli.run")

Prepare = Callable[[Store, str], Awaitable[Job]]
"""Creates the job for a thread, once the store is open and the thread is locked."""


class JobRunner:
    """Runs one job at the terminal, and asks the questions of the run."""

    def __init__(self, args: RunOptions, settings: Settings, screen: Screen) -> None:
        self._args = args
        self._settings = settings
        self._thread_id = ""
        self._screen = screen
        self._progress = self._new_progress()
        self._stopping = StopSignals(self._announce_stop)
        self._store: Store | None = None
        self._composer: Composer | None = None
        """Reads messages to the agent while it works; None without a conversation."""
        self._workspace = ""
        self._began = time.monotonic()
        """When the user last started or answered something."""
        self._can_ask = False
        """Whether a person is present and has answered all questions so far."""
        self._was_asked = False
        """Whether the open question has already been displayed."""

    def _new_progress(self) -> Progress:
        is_live = self._args.format == "text"
        currency = self._settings.currency
        return Progress(self._screen, live=is_live, currency=currency, verbose=self._args.verbose)

    async def run(self, prepare: Prepare, thread: str | None, *, or_new: bool = False) -> int:
        """Run the job, report the outcome, and return the exit code.

        `thread` and `or_new` are passed to `find_thread`; None creates a new thread.
        """
        with self._stopping:
            try:
                async with open_store(self._settings) as store:
                    self._store = store
                    store.watch_outages(self._progress.show_outage)
                    if thread is None:
                        self._thread_id = secrets.token_hex(5)
                    else:
                        self._thread_id = await find_thread(store, thread, or_new=or_new)
                    log.info("thread %s: started", self._thread_id)
                    outcome = await self._run_job(store, prepare)
                    # after the lock is released: a message may have arrived at the last moment
                    unread = await messages.read_unread(store, self._thread_id)
            except asyncio.CancelledError:
                if not self._stopping.absorb_cancellation():
                    raise
                return self._stopping.exit_code or 1
            except Exception as error:  # re-raised; report here how to resume
                if self._progress.has_begun:
                    self._report_failure(error)
                    if self._stopping.exit_code and isinstance(error, StorageUnavailableError):
                        return self._stopping.exit_code
                    raise report.ReportedError(str(error)) from error
                raise
            self._report(outcome)
            self._report_unread(len(unread))
            is_success = outcome.status == "finished" and outcome.success
            return self._stopping.exit_code or (0 if is_success else 1)

    async def _run_job(self, store: Store, prepare: Prepare) -> Outcome:
        async with store.hold(self._thread_id):
            job = await prepare(store, self._thread_id)
            self._workspace = job.context.workspace or ""
            if not (self._args.quiet or self._args.chat or job.is_report_only):
                sandbox = await asyncio.to_thread(
                    describe_sandbox, self._settings.sandbox, Path(self._workspace)
                )
                self._screen.paragraph(f"Working in {self._workspace} ({sandbox})", "dim")
                await self._report_tools()
            if job.kind == "flow":
                values = (await job.graph.aget_state(job.config())).values
                self._progress.plan.plan = values.get("plan") or None
            if self._args.format == "jsonl":
                report.print_json(report.describe_stream(self._thread_id, self._workspace))
            self._can_ask = job.context.interactive
            if job.pending is None:
                self._progress.wait()
            modes = self._progress.stream_mode

            async def show(mode: str, data: Any) -> None:
                await self._progress.show(mode, data)
                self._forget_read(data)
                if self._args.format == "jsonl" and mode == "custom":
                    report.print_json(data)

            if self._args.chat and Composer.is_usable(self._screen):
                unread = await messages.read_unread(store, self._thread_id)
                self._composer = Composer(self._screen, self._send, self._withdraw, unread)
                if job.pending is None:
                    self._composer.start()
            try:
                return await run_job(job, modes, show, self._continue_job, self._start_next)
            except asyncio.CancelledError:
                if not self._stopping.absorb_cancellation():
                    raise
                return build_outcome(await job.graph.aget_state(job.config()))
            finally:
                self._stop_composer()
                if self._composer is not None:
                    await self._composer.settle()

    async def _send(self, text: str, queue: bool) -> InboxMessage:
        """Store what the user has typed during the run as a message to the agent."""
        assert self._store is not None
        files, _ = find_mentioned_files(text, self._workspace)
        request = await asyncio.to_thread(attach_files, typed_request(text), files)
        return await messages.send(self._store, self._thread_id, request, queue=queue)

    async def _withdraw(self, message_id: str) -> InboxMessage:
        assert self._store is not None
        return await messages.withdraw(self._store, self._thread_id, message_id)

    def _forget_read(self, event: Any) -> None:
        """Stop showing a message as unread when the agent reads it."""
        if self._composer is None or not isinstance(event, dict):
            return
        inner = event.get("event", event)
        if inner.get("type") == "message":
            self._composer.forget(inner["id"])

    def _stop_composer(self) -> None:
        if self._composer is not None:
            self._composer.stop()

    async def _report_tools(self) -> None:
        """Print which of the user's tools programs can use, and which are hidden."""

        def describe() -> str:
            root = Path(os.path.realpath(self._workspace))
            return report_tools(root, self._settings.sandbox).describe()

        if description := await asyncio.to_thread(describe):
            self._screen.paragraph(description, "dim")

    async def _continue_job(self, job: Job, outcome: Outcome) -> Job | None:
        """Return the job with answers or more steps; None if the user gives none."""
        next_job = None
        self._stop_composer()
        if self._can_ask and outcome.asks_person:
            self._ring()
            visible_plan = self._progress.plan.shown
            self._was_asked = True  # also if the question is left by Ctrl-C
            answers, self._can_ask = await ask_all(self._screen, outcome.questions, visible_plan)
            self._was_asked = not answers
            if answers:
                next_job = replace(job, graph_input=Command(resume=answers))
        elif self._can_ask and outcome.stop_reason == "max_steps":
            next_job = await self._ask_for_steps(job)
        if next_job is not None:
            self._continue()
        return next_job

    def _ring(self) -> None:
        """Ring the bell if the user has waited so long that they may be looking elsewhere."""
        if time.monotonic() - self._began >= self._settings.bell_after:
            self._screen.ring()

    def _continue(self) -> None:
        """Show that the run continues, and read messages to it."""
        self._began = time.monotonic()
        if self._composer is not None:
            self._composer.start()
        self._progress.wait()

    def _start_next(self, job: Job, outcome: Outcome) -> None:
        """Report the run that has ended, and show the waiting message that is executed next."""
        self._report(outcome)
        self._progress = self._new_progress()
        [request] = job.graph_input["messages"]
        self._screen.paragraph(f"> {own_words(request)}", "bold")
        if self._composer is not None:
            self._composer.forget(str(request.id))
        self._continue()

    async def _ask_for_steps(self, job: Job) -> Job | None:
        """Return the job with a doubled step limit, if the user agrees."""
        run = (await job.graph.aget_state(job.config())).values["run"]
        self._screen.end_live()
        if not await ask_for_more_steps(self._screen, run["max_steps"]):
            return None
        next_job = replace(job, graph_input=None, context=extend_steps(job.context, run))
        await reopen(job.graph, next_job.config())
        return next_job

    def _report(self, outcome: Outcome) -> None:
        self._progress.end(outcome.output)
        self._ring()
        if self._args.output_file is not None and outcome.status == "finished":
            report.write_answer(self._args.output_file, outcome.output)
        log.info("thread %s: %s", self._thread_id, outcome.stop_reason or "not finished")
        if self._args.format != "text":
            self._print_outcome(outcome)
        else:
            self._print_gap()
            if outcome.output.strip() and not (self._was_asked and sys.stdout.isatty()):
                report.print_outcome(outcome)
                self._print_gap()
        steps = max(len(outcome.results), self._progress.steps)
        spent = in_words({**outcome.usage}, self._settings.currency) or count(0, "token")
        took = f"{count(steps, 'step')}, {spent}, {outcome.usage['seconds']:.1f} s"
        was_stopped = self._stopping.exit_code is not None and outcome.stop_reason is None
        if self._args.chat and was_stopped:
            self._screen.paragraph(f"{report.STOPPED_IN_CHAT}\n")
        elif self._args.chat:
            self._screen.paragraph(
                f"{report.headline(outcome)}: {took}{self._describe_context()}", "dim"
            )
            if refused := report.refused_lines(outcome):
                self._screen.paragraph(refused, always=True)
            if hint := report.hint_in_chat(outcome):
                self._screen.paragraph(hint)
            self._screen.paragraph("")
        else:
            report.print_summary(outcome, self._screen, took, self._workspace)

    def _describe_context(self) -> str:
        """Return which part of the model's context window the conversation takes."""
        endpoint = select_main_endpoint(self._settings, self._args.model)
        window = get_window(endpoint)
        tokens = self._progress.context_tokens
        return f", context {tokens / window:.0%} of {window // 1000}k" if tokens else ""

    def _print_outcome(self, outcome: Outcome) -> None:
        """Print an outcome as JSON: as an object, or as the last line of a run's events."""
        fields = outcome.as_json()
        if self._args.output_schema is not None:
            fields["structured"] = json.loads(outcome.output) if outcome.success else None
        if self._args.format == "jsonl":
            fields = {"type": "result", **fields}
        report.print_json(fields)

    def _report_unread(self, total: int) -> None:
        """Report what happens to messages that the run has not read."""
        if total == 0:
            return
        hint = "Your next request, or /resume, reads the unread messages"
        if not self._args.chat:
            hint = (
                f"`{report.program()} resume {shlex.quote(self._thread_id)}` reads the unread "
                "messages"
            )
        self._screen.paragraph(f"{hint} ({total}).")

    def _print_gap(self) -> None:
        """Print a blank line between progress and result if both go to the terminal."""
        if self._screen.is_terminal and sys.stdout.isatty():
            self._screen.paragraph("")

    def _announce_stop(self) -> None:
        self._stop_composer()
        self._screen.end_live()
        if self._store is not None:
            self._store.stop_waiting()
        if self._screen.can_redraw:
            self._screen.busy("stopping (press Ctrl-C again to exit immediately)")
        else:
            self._screen.paragraph("\nStopping … (press again to exit immediately)", always=True)

    def _report_failure(self, error: Exception) -> None:
        """Report a run that failed while its state cannot be read."""
        message = str(error)
        status: RunStatus = "error"
        stop_reason: StopReason = "error"
        if isinstance(error, StorageUnavailableError):
            status = "idle"
            stop_reason = "interrupted"
        usage = Usage(**{**no_usage(), **self._progress.usage})  # type: ignore[typeddict-item]
        outcome = Outcome(self._thread_id, status, stop_reason, False, message, [], usage)
        if self._args.format != "text":
            self._print_outcome(outcome)
        self._progress.end()
        hint = report.hint_in_chat if self._args.chat else report.resume_hint
        self._screen.paragraph(hint(outcome), always=True)
