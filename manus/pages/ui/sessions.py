"""The runs that the page's server is at work on, one a thread, and what comes of them live."""

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
from manus.runs.jobs import Job, run_job
from manus.runs.message_chunks import text_chunks
from manus.state.errors import ManusError, UsageError
from manus.store.base import Store
from manus.tools.browser.state import take_picture

log = logging.getLogger("manus.pages.ui")

Piece = dict[str, Any]
"""What is told live: a `kind` (`says`, `thinks`, `call`, `work`, `done`, `problem`), and `text`."""


class Sessions:
    """Runs as tasks of this process. A run that waits with a question waits here for the answer."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._jobs: dict[str, Job] = {}
        self._asked: dict[str, asyncio.Future[Mapping[str, str]]] = {}
        self._listeners: dict[str, set[asyncio.Queue[Piece]]] = {}
        self.problems: dict[str, str] = {}
        """Why the newest run of a thread broke off, where its state does not say so."""

    def is_at_work(self, thread: str) -> bool:
        """Whether a run is under way here, and does not wait for a person."""
        return thread in self._tasks and thread not in self._asked

    def waits(self, thread: str) -> bool:
        """Whether a run waits here for an answer."""
        return thread in self._asked

    async def begin(self, thread: str, prepare: Callable[[], Awaitable[Job]]) -> None:
        """Prepare a job, and have a task work on it.

        Raises:
            ManusError: it cannot be prepared, or the thread is busy.
        """
        if thread in self._tasks:
            raise UsageError("A run is already working on the thread; stop it first.")
        async with AsyncExitStack() as held:
            await held.enter_async_context(self._store.hold(thread))
            job = await prepare()
            self.problems.pop(thread, None)
            self._jobs[thread] = job
            self._tasks[thread] = asyncio.create_task(self._work(job, held.pop_all()))
            await asyncio.sleep(0)  # a task that is cancelled before it begins lets go of none

    def answer(self, thread: str, answers: Mapping[str, str]) -> bool:
        """Give a run that waits here its answers; False where none does."""
        asked = self._asked.pop(thread, None)
        if asked is None or asked.done():
            return False
        asked.set_result(answers)
        return True

    async def stop(self, thread: str) -> None:
        """Stop the run of a thread cleanly; it can be gone on with."""
        task = self._tasks.get(thread)
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def close(self) -> None:
        """Stop all."""
        await asyncio.gather(*map(self.stop, list(self._tasks)))

    async def screen(self, thread: str) -> bytes:
        """What a browser of the thread's run shows now, as a JPEG; nothing where none is open."""
        job = self._jobs.get(thread)
        for active_run in job.graph.active_runs.of_thread(thread) if job else ():
            if picture := await take_picture(active_run.session):
                return picture
        return b""

    async def live(self, thread: str) -> AsyncIterator[Piece]:
        """What comes of a thread from now on; never ends."""
        queue: asyncio.Queue[Piece] = asyncio.Queue()
        self._listeners.setdefault(thread, set()).add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._listeners[thread].discard(queue)

    async def _work(self, job: Job, held: AsyncExitStack) -> None:
        thread = job.thread_id
        try:
            async with held:
                show = partial(self._show, thread)
                await run_job(job, ["custom", "messages"], show, self._ask)
        except asyncio.CancelledError:
            log.info("thread %s: stopped", thread)
        except Exception as error:  # the page tells it; the server goes on for other threads
            if not isinstance(error, ManusError):
                log.exception("thread %s", thread)
            self.problems[thread] = str(error) or type(error).__name__
        finally:
            del self._tasks[thread], self._jobs[thread]
            self._asked.pop(thread, None)
            self._tell(thread, {"kind": "done"})

    async def _show(self, thread: str, mode: str, data: Any) -> None:
        if mode == "messages":
            for of, kind, name, text in text_chunks(*data, "think", "plan", "summarize"):
                self._tell(thread, {"of": of, "kind": kind, "name": name, "text": text})
        else:
            for piece in _of_event(data):
                self._tell(thread, piece)

    async def _ask(self, job: Job, outcome: Outcome) -> Job | None:
        """The job with the answers that come from the page."""
        if not outcome.asks_person:
            return None
        answered = asyncio.get_running_loop().create_future()
        self._asked[job.thread_id] = answered
        self._tell(job.thread_id, {"kind": "done"})
        return replace(job, graph_input=Command(resume=await answered))

    def _tell(self, thread: str, piece: Piece) -> None:
        for queue in self._listeners.get(thread, ()):
            queue.put_nowait(piece)


def _of_event(event: Any) -> Iterator[Piece]:
    """What an event of `manus.state.events` tells."""
    kind = event.get("type") if isinstance(event, dict) else None
    if kind in ("plan_action", "delegate_action"):
        yield from _of_event(event["event"])
    elif kind == "call":
        said = f"{event['name']} {main_argument(event['args'])}"
        yield {"kind": "work", "of": event["id"], "name": said, "text": ""}
    elif kind == "output":
        yield {"kind": "work", "of": event["id"], "text": event["text"]}
    elif kind in ("thought", "observation", "plan"):
        yield {"kind": "done"}
    elif kind == "retry":
        yield {"kind": "problem", "text": event["reason"]}
