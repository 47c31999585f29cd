"""The jobs that the page's server is running, one per thread, and their live events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from langgraph.types import Command

from manus.graph.outcome import Outcome
from manus.prompts.formatting import main_argument
from manus.runs.jobs import Job, run_job, text_chunks
from manus.state.errors import ManusError, UsageError
from manus.threads.base import Store
from manus.tools.browser.state import take_picture

log = logging.getLogger("manus.pages.ui")

LiveEvent = dict[str, Any]
"""A `kind` (`says`, `thinks`, `plans`, `call`, `work`, `done`, `problem`) and a `text`."""


class ActiveJobs:
    """Jobs as tasks of this process; a run with a question waits here for the answer."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._jobs: dict[str, Job] = {}
        self._answers: dict[str, asyncio.Future[Mapping[str, str]]] = {}
        self._listeners: dict[str, set[asyncio.Queue[LiveEvent]]] = {}
        self.problems: dict[str, str] = {}
        """Why the newest run of a thread failed, if its state does not show it."""
        self.starting: dict[str, str] = {}
        """Requests of runs that have not yet stored it."""
        self.stopped: set[str] = set()
        """Threads whose newest run was stopped here."""

    def __contains__(self, thread: str) -> bool:
        """Return whether a run is in progress or waits here."""
        return thread in self._tasks

    def is_at_work(self, thread: str) -> bool:
        """Return whether a run is in progress here and not waiting for an answer."""
        return thread in self._tasks and thread not in self._answers

    def waits(self, thread: str) -> bool:
        """Return whether a run waits here for an answer."""
        return thread in self._answers

    async def start(
        self, thread: str, prepare: Callable[[], Awaitable[Job]], request: str = ""
    ) -> None:
        """Prepare a job and start a task for it; show its request until the thread has it.

        Raises:
            ManusError: the job cannot be prepared, or the thread is in use.
        """
        if thread in self._tasks:
            raise UsageError("A run is already working on the thread; stop it first.")
        async with AsyncExitStack() as resources:
            await resources.enter_async_context(self._store.hold(thread))
            job = await prepare()
            self.problems.pop(thread, None)
            self.stopped.discard(thread)
            if request:
                self.starting[thread] = request
            self._jobs[thread] = job
            self._tasks[thread] = asyncio.create_task(self._work(job, resources.pop_all()))
            await asyncio.sleep(0)  # a task cancelled before its start never releases

    def answer(self, thread: str, answers: Mapping[str, str]) -> bool:
        """Pass answers to a waiting run; return False if none waits."""
        future = self._answers.pop(thread, None)
        if future is None or future.done():
            return False
        future.set_result(answers)
        return True

    async def stop(self, thread: str) -> None:
        """Stop the run of a thread cleanly, so that it can be resumed."""
        task = self._tasks.get(thread)
        if task is not None:
            self.stopped.add(thread)
            task.cancel()
            await asyncio.wait({task})

    async def close(self) -> None:
        """Stop all runs."""
        await asyncio.gather(*map(self.stop, list(self._tasks)))

    async def screen(self, thread: str) -> bytes:
        """Return a JPEG of the browser of a thread's run; empty if none is open."""
        job = self._jobs.get(thread)
        if job is None:
            return b""
        for active_run in job.graph.active_runs.get_thread_runs(thread):
            if image := await take_picture(active_run.session):
                return image
        return b""

    async def live(self, thread: str) -> AsyncIterator[LiveEvent]:
        """Yield the events of a thread from now on; never ends."""
        queue: asyncio.Queue[LiveEvent] = asyncio.Queue()
        self._listeners.setdefault(thread, set()).add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._listeners[thread].discard(queue)

    def notify(self, thread: str, text: str) -> None:
        """Show a text on the pages of a thread."""
        self._send(thread, {"kind": "problem", "text": text})

    async def _work(self, job: Job, resources: AsyncExitStack) -> None:
        thread = job.thread_id
        try:
            async with resources:
                show = partial(self._show, thread)
                await run_job(job, ["custom", "messages"], show, self._ask)
        except asyncio.CancelledError:
            log.info("thread %s: stopped", thread)
        except Exception as error:  # shown on the page; the server keeps serving other threads
            if not isinstance(error, ManusError):
                log.exception("thread %s", thread)
            self.problems[thread] = str(error) or type(error).__name__
        finally:
            del self._tasks[thread], self._jobs[thread]
            self._answers.pop(thread, None)
            self.starting.pop(thread, None)
            self._send(thread, {"kind": "done"})

    async def _show(self, thread: str, mode: str, data: Any) -> None:
        if self.starting.pop(thread, None):
            self._send(thread, {"kind": "done"})
        if mode == "messages" and data[1].get("langgraph_node") == "plan":
            self._send(thread, {"of": "plan", "kind": "plans", "text": ""})
        elif mode == "messages":
            for text_id, kind, name, text in text_chunks(*data, "think", "summarize"):
                self._send(thread, {"of": text_id, "kind": kind, "name": name, "text": text})
        else:
            for item in _live_events(data):
                self._send(thread, item)

    async def _ask(self, job: Job, outcome: Outcome) -> Job | None:
        """Wait for answers from the page; return the job that resumes with them."""
        if not outcome.asks_person:
            return None
        future = asyncio.get_running_loop().create_future()
        self._answers[job.thread_id] = future
        self._send(job.thread_id, {"kind": "done"})
        return replace(job, graph_input=Command(resume=await future))

    def _send(self, thread: str, piece: LiveEvent) -> None:
        for queue in self._listeners.get(thread, ()):
            queue.put_nowait(piece)


def _live_events(event: Any) -> Iterator[LiveEvent]:
    """Yield the live events for an event of `manus.state.events`."""
    kind = event.get("type") if isinstance(event, dict) else None
    if kind in ("plan_action", "delegate_action"):
        yield from _live_events(event["event"])
    elif kind == "call":
        name = f"{event['name']} {main_argument(event['args'])}"
        yield {"kind": "work", "of": event["id"], "name": name, "text": ""}
    elif kind == "output":
        yield {"kind": "work", "of": event["id"], "text": event["text"]}
    elif kind in ("thought", "observation", "plan"):
        yield {"kind": "done"}
    elif kind == "retry":
        yield {"kind": "problem", "text": event["reason"]}
