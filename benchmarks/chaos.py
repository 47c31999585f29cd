"""Kill runs at random moments and resume them, in each kind of run and of store: `make chaos`.

    python -m benchmarks.chaos [--kills 50] [--seed 1] [--postgres URL] [--kind KIND]

As in `benchmarks.durability`, each run makes eight tool calls, each of which appends its number to
a file; it is killed (SIGKILL) at random moments and resumed by another process until it ends. The
columns are explained there. Without a URL, the runs with PostgreSQL are omitted. The last rows are
`create_agent` and deepagents, without and with our journal.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import secrets
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.types import Command

from benchmarks import durability
from benchmarks.durability import CALLS, PAUSE, Count, measure
from manus import Context, Profile, build_agent, build_flow
from manus.config.settings import Settings
from manus.prompts import compaction as compaction_prompts
from manus.threads.base import Store
from manus.threads.history import read_history
from manus.threads.open_store import open_store

KINDS = ("agent", "flow", "compaction", "question")
_WINDOW = 6_000
"""Tokens of the context window in a run with compaction."""
_LONG = "A wall, a door, a window. " * 150
"""The output that each call of such a run returns in addition."""
_SUMMARIZER = compaction_prompts.SUMMARIZER[:40]
_PLANNER = "You plan work that others carry out"
_RANGE = re.compile(r"Append (\d+) to (\d+)\.")
_STEP = re.compile(r"Your step is number \d+: (.*)")


class ChaosModel(BaseChatModel):
    """A model that appends the numbers it is asked for, one per turn."""

    kind: str

    @property
    def _llm_type(self) -> str:
        return "chaos"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        texts = [str(message.content) for message in messages]
        if any(_SUMMARIZER in content for content in texts):
            return AIMessage("- The numbers are appended one by one.")
        if any(_PLANNER in content for content in texts):
            steps = [f"Append 0 to {CALLS // 2 - 1}.", f"Append {CALLS // 2} to {CALLS - 1}."]
            plan = {"command": "create", "plan_id": "p", "title": "Append", "steps": steps}
            return _call("planning", plan)
        first, last = _find_range(messages)
        calls = [call for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
        numbers = [call["args"]["number"] for call in calls if call["name"] == "append"]
        number = max(numbers, default=first - 1) + 1
        has_asked = any(call["name"] == "ask_human" for call in calls)
        if self.kind == "question" and number == CALLS // 2 and not has_asked:
            return _call("ask_human", {"inquire": "Shall I continue?"})
        if number <= last:
            return _call("append", {"number": number})
        return _call("terminate", {"status": "success", "answer": "Done."})


def _call(name: str, args: dict[str, Any]) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": name, "args": args, "id": f"c{secrets.token_hex(4)}"}]
    )


def _find_range(messages: Sequence[BaseMessage]) -> tuple[int, int]:
    """Return the first and last number that the plan step or the request names."""
    request_text = "\n".join(str(m.content) for m in messages if isinstance(m, HumanMessage))
    steps = _STEP.findall(request_text)
    numbers = _RANGE.search(steps[-1] if steps else request_text)
    if numbers is None:  # the request for a summary
        return 0, -1
    return int(numbers[1]), int(numbers[2])


def build(kind: str, store: Store, folder: Path) -> Any:
    """Build the graph of a kind of run."""

    async def append(number: int) -> str:
        """Append a number."""
        await asyncio.sleep(PAUSE)
        with (folder / "effects").open("a") as file:
            file.write(f"{number}\n")
        await asyncio.sleep(PAUSE)
        return f"Appended {number}. {_LONG if kind == 'compaction' else ''}"

    tools: tuple[Any, ...] = (append, "ask_human", "terminate")
    profile = Profile("appender", "Appends.", tools, "You append numbers.", "Go on.")
    model = ChaosModel(kind=kind)
    if kind == "compaction":
        model.profile = {"max_input_tokens": _WINDOW}
    if kind == "flow":
        return build_flow([profile], model=model, checkpointer=store)
    return build_agent(profile, model=model, checkpointer=store)


async def work(kind: str, database: str, folder: Path, ready: int) -> list[str]:
    """Start or resume the run, or answer its question, as a `Work` of `benchmarks.durability`."""
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    os.chdir(folder)
    config: Any = {"configurable": {"thread_id": folder.name}, "recursion_limit": 1000}
    context = Context(workspace=str(folder / "workspace"), approve="yolo", interactive=True)
    async with open_store(Settings(checkpoint=database or str(folder / "threads.sqlite"))) as store:
        graph = build(kind, store, folder)
        inputs: Any = {"request": f"Append 0 to {CALLS - 1}."}
        if (await graph.aget_state(config)).values:
            inputs = None
        os.write(ready, b".")
        while True:
            state = await graph.aget_state(config)
            if state.interrupts:
                inputs = Command(resume="Yes.")
            result = await graph.ainvoke(inputs, config, context=context)
            inputs = None
            if not result.get("__interrupt__"):
                if kind == "compaction" and not (await graph.aget_state(config)).values.get(kind):
                    raise RuntimeError("nothing was compacted")
                return await _read_answers(store, folder.name)


async def _read_answers(store: Store, thread: str) -> list[str]:
    """Return the texts of all tool messages of a thread, including those removed by compaction."""
    answers: dict[str, str] = {}
    for supersteps in (await read_history(store, thread)).values():
        for superstep in supersteps:
            for message in superstep.messages:
                if isinstance(message, ToolMessage):
                    answers[str(message.id)] = str(message.content).replace("\n", " ")
    return [*answers.values()]


def measure_all(
    kinds: Sequence[str], databases: Sequence[str], kills: int, seed: int
) -> Iterator[tuple[str, str, Count]]:
    """Yield kind, store and counts of each combination; an empty URL means a SQLite file."""
    for database in databases:
        for kind in kinds:
            name = "Postgres" if database else "SQLite"
            yield kind, name, measure(partial(work, kind, database), kills, random.Random(seed))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", metavar="URL", help="an empty database")
    parser.add_argument("--only", action="store_true", help="no SQLite beside PostgreSQL")
    parser.add_argument("--kind", choices=KINDS, help="only this kind of run")
    options = parser.parse_args(arguments)
    kinds = [options.kind] if options.kind else KINDS
    print("| run | store | kills | executed | doubled | lost | in doubt |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    databases = ["", options.postgres] if options.postgres else [""]
    if options.only:
        databases = databases[-1:]
    for kind, store, count in measure_all(kinds, databases, options.kills, options.seed):
        cells = [kind, store, count.kills, count.executed]
        cells += [count.doubled, count.lost, count.in_doubt]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
    if options.kind:
        return
    print()
    durability.main(["--kills", str(options.kills), "--seed", str(options.seed)])


if __name__ == "__main__":
    main()
