"""The cost of a crash: agents are killed at random moments and resumed, with and without a journal.

    python -m benchmarks.durability [--kills 100] [--seed 1]

Each run makes eight tool calls, each of which appends its number to a file. It is killed (SIGKILL)
at a random moment and resumed by another process, until it ends. The table counts the calls that
were executed twice, those that were silently lost, and those in doubt, whose tool message says that
they may have taken effect. deepagents is included if it is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import random
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from manus.middleware import EffectJournal

CALLS = 8
PAUSE = 0.004
"""Seconds before and after each effect during which a kill leaves the call in doubt."""
DOUBT = ("may have taken effect", "may repeat what has taken effect")


class CountingModel(BaseChatModel):
    """A model that makes the n-th call after n tool messages, and then answers."""

    @property
    def _llm_type(self) -> str:
        return "counting"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        number = sum(isinstance(message, ToolMessage) for message in messages)
        reply = AIMessage("Done.")
        if number < CALLS:
            call = {"name": "append", "args": {"number": number}, "id": f"c{os.urandom(4).hex()}"}
            reply = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=reply)])


@dataclass(frozen=True)
class Setting:
    """One row of the table."""

    library: str
    durability: str
    has_journal: bool


@dataclass
class Count:
    """The outcome of the calls of some runs."""

    executed: int = 0
    doubled: int = 0
    lost: int = 0
    in_doubt: int = 0
    kills: int = 0


def build(setting: Setting, saver: Any, folder: Path) -> Any:
    async def append(number: int) -> str:
        await asyncio.sleep(PAUSE)
        with (folder / "effects").open("a") as file:
            file.write(f"{number}\n")
        await asyncio.sleep(PAUSE)
        return f"Appended {number}."

    tool = StructuredTool.from_function(coroutine=append, name="append", description="Append.")
    middleware = [EffectJournal(folder / "threads.sqlite")] if setting.has_journal else []
    if setting.library == "create_agent":
        return create_agent(CountingModel(), [tool], middleware=middleware, checkpointer=saver)
    return importlib.import_module("deepagents").create_deep_agent(
        model=CountingModel(), tools=[tool], middleware=middleware, checkpointer=saver
    )


async def work(setting: Setting, folder: Path, ready: int) -> list[str]:
    """Start or resume the run, as a `Work`."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.sqlite")) as saver:
        agent = build(setting, saver, folder)
        config = {"configurable": {"thread_id": "t"}, "recursion_limit": 1000}
        started = (await agent.aget_state(config)).values.get("messages")
        start = None if started else {"messages": [("user", "Append.")]}
        os.write(ready, b".")
        state = await agent.ainvoke(start, config, durability=setting.durability)
        return [str(m.content) for m in state["messages"] if isinstance(m, ToolMessage)]


Work = Callable[[Path, int], Coroutine[Any, Any, list[str]]]
"""Starts or resumes a run in a folder; returns the texts of its tool messages at its end.

It writes to a descriptor before it starts."""


def run_until_killed(work: Work, folder: Path, delay: float | None) -> float | None:
    """Work in a separate process, and kill it after a delay.

    Return the seconds that the run took, or None if it was killed.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            texts = asyncio.run(work(folder, writer))
            (folder / "answers").write_text("\n".join(texts))
            os._exit(0)
        except Exception:  # noqa: BLE001 - the parent reports that the run has failed
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    start = time.monotonic()
    if delay is not None:
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise RuntimeError("the run failed")
    return time.monotonic() - start if os.WIFEXITED(status) else None


def measure(work: Work, kills: int, randomness: random.Random) -> Count:
    """Return the outcome of the calls of runs that were killed this many times in total."""
    count = Count()
    with tempfile.TemporaryDirectory() as name:
        duration = run_until_killed(work, Path(name), None) or 0.0
    while count.kills < kills:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            while run_until_killed(work, folder, randomness.uniform(0, duration)) is None:
                count.kills += 1
            _add(count, folder)
    return count


def _add(count: Count, folder: Path) -> None:
    effects = Counter((folder / "effects").read_text().split())
    answers = (folder / "answers").read_text().splitlines()
    in_doubt = sum(any(text in answer for text in DOUBT) for answer in answers)
    missing = CALLS - len(effects)
    count.executed += effects.total()
    count.doubled += effects.total() - len(effects)
    count.lost += max(0, missing - in_doubt)
    count.in_doubt += in_doubt


def list_settings() -> list[Setting]:
    libraries = ["create_agent"]
    if importlib.util.find_spec("deepagents"):
        libraries.append("deepagents")
    else:
        print("deepagents is not installed and is left out")
    return [
        Setting(library, durability, has_journal)
        for library in libraries
        for durability in ("sync", "async")
        for has_journal in (False, True)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--library", choices=("create_agent", "deepagents"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    print("| agent | durability | EffectJournal | kills | doubled | lost | in doubt |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for setting in list_settings():
        if options.library not in (None, setting.library):
            continue
        count = measure(partial(work, setting), options.kills, random.Random(options.seed))
        journal = "yes" if setting.has_journal else "no"
        cells = [setting.library, setting.durability, journal, count.kills]
        cells += [count.doubled, count.lost, count.in_doubt]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
