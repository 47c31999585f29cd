"""Agents and flows in processes of their own, to be killed.

One process imports all there is to import and forks for each of them: a start takes milliseconds.
"""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from manus.graph import build_agent, build_flow
from manus.sqlite import open_sqlite
from manus.state.context import Context
from tests.flow.helpers import SECOND
from tests.helpers.agent import DELEGATOR, TESTER, ScriptedAgent, thread_config

FORKS = multiprocessing.get_context("forkserver")
PRELOADED = ("__main__", __name__, "langchain_openai", "openai.resources.chat")
FORKS.set_forkserver_preload([*PRELOADED])
REQUEST = {"request": "Do it."}
_PATIENCE = 60.0

Process = multiprocessing.context.ForkServerProcess


def started(
    agent: ScriptedAgent, given: Any = None, **chosen: Any
) -> AbstractContextManager[Process]:
    """A process that works on the thread `t` of an agent, or of a flow; it ends with the block.

    What is given is a request, or None to go on.
    """
    database = agent.workspace.parent / "threads.sqlite"
    context = agent.context(**chosen)
    return forked(_main, database, context, given, agent.graph.name, dict(os.environ))


@contextmanager
def forked(target: Callable[..., None], *args: Any) -> Iterator[Process]:
    """A process that calls a function; it ends with the block, and with the tests if they die."""
    child = FORKS.Process(target=_mortal, args=(target, *args), daemon=True)
    child.start()
    try:
        yield child
    finally:
        child.kill()
        child.join()


def killed_when(child: Process, ready: Callable[[], bool]) -> None:
    """Kill a process as soon as something has happened."""
    deadline = time.monotonic() + _PATIENCE
    while not ready():
        assert child.is_alive(), "it ended before"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    child.kill()
    child.join()


def _mortal(target: Callable[..., None], *args: Any) -> None:
    threading.Thread(target=_die_with_the_tests, daemon=True).start()
    target(*args)


def _die_with_the_tests() -> None:
    """The fork server would live on as long as one of its children does."""
    tests = multiprocessing.parent_process()
    assert tests is not None
    tests.join()
    os.kill(os.getpid(), signal.SIGKILL)


def _main(
    database: Path, context: Context, given: Any, who: str, environment: dict[str, str]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(database.parent)
    asyncio.run(_work(database, context, given, who))


async def _work(database: Path, context: Context, given: Any, who: str) -> None:
    async with open_sqlite(database) as saver:
        if who == "flow":
            graph = build_flow((TESTER, SECOND), checkpointer=saver)
        else:
            profiles = {profile.name: profile for profile in (DELEGATOR, TESTER)}
            graph = build_agent(profiles[who], checkpointer=saver)
        await graph.ainvoke(given, thread_config("t"), context=context)
