"""The number of tokens in the requests to a model.

    python -m benchmarks.request_size            the first request of each profile
    python -m benchmarks.request_size --tasks    all requests of three scripted tasks

The model is scripted, so the figures are reproducible on one machine. Tokens are estimated as
in the program (four bytes each), and counted exactly if the package `bpe-openai`, or `tiktoken`
with its data is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, convert_to_openai_messages

from manus import PROFILES, Context, build_agent
from manus.scripted import ScriptedModel, text

ENCODING = "o200k_base"
_BYTES = 4


@dataclass(frozen=True)
class RequestSize:
    """The bytes of a request by part, as JSON."""

    system: str
    schemas: str
    rest: str

    def count(self, tokens_of: Callable[[str], int]) -> int:
        return sum(map(tokens_of, (self.system, self.schemas, self.rest)))


def estimate(text_: str) -> int:
    """Return the estimated tokens of a text."""
    return round(len(text_.encode()) / _BYTES)


def exact_counter() -> Callable[[str], int] | None:
    """Return a function that counts tokens exactly, if a suitable package is installed."""
    for package in ("bpe_openai", "tiktoken"):
        try:
            encoding = __import__(package).get_encoding(ENCODING)
        except (ImportError, OSError):  # tiktoken downloads its data on first use
            continue
        return lambda text_: len(encoding.encode(text_))
    return None


def split_request(request: dict[str, Any]) -> RequestSize:
    """Return the parts of a request that a `ScriptedModel` has received."""
    system, *rest = convert_to_openai_messages(request["messages"])
    return RequestSize(
        system=str(system["content"]),
        schemas=json.dumps(request["tools"] or [], ensure_ascii=False),
        rest=json.dumps(rest, ensure_ascii=False),
    )


@contextmanager
def clean_folder() -> Iterator[Path]:
    """Provide an empty folder without settings as the current folder."""
    before = Path.cwd()
    variables = {name: value for name, value in os.environ.items() if name.startswith("MANUS_")}
    for name in variables:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)
            os.environ.update(variables)


async def run_scripted(
    profile: str, request: str, replies: Sequence[AIMessage], workspace: Path
) -> list[RequestSize]:
    """Run an agent with these model replies; return the sizes of its requests."""
    model = ScriptedModel()
    model.script(*replies)
    agent = build_agent(profile, model=model)
    context = Context(workspace=str(workspace), approve="yolo")
    await agent.ainvoke({"messages": [HumanMessage(request)]}, context=context)
    return [split_request(request) for request in model.requests]


async def first_request(profile: str) -> RequestSize:
    """Return the size of a profile's first request, in an empty workspace."""
    with clean_folder() as folder:
        workspace = folder / "work"
        workspace.mkdir()
        [size] = await run_scripted(profile, "What is 2 + 2?", [text("It is 4.")], workspace)
    return size


async def print_first_requests() -> None:
    exact = exact_counter()
    counters = {"estimated": estimate} | ({ENCODING: exact} if exact else {})
    for label, count in counters.items():
        print(f"{f'tokens ({label})':<24}{'system':>8}{'schemas':>9}{'whole':>8}")
        for name in PROFILES:
            size = await first_request(name)
            parts = (count(size.system), count(size.schemas), size.count(count))
            print(f"{name:<24}{parts[0]:>8,}{parts[1]:>9,}{parts[2]:>8,}")


async def print_tasks() -> None:
    from benchmarks.request_tasks import TASKS

    exact = exact_counter()
    counters = {"estimated": estimate} | ({ENCODING: exact} if exact else {})
    print(f"{'task':<24}{'requests':>9}{''.join(f'{label:>12}' for label in counters)}")
    totals = [0 for _ in counters]
    for task in TASKS:
        with clean_folder() as folder:
            workspace = folder / "work"
            workspace.mkdir()
            task.prepare(workspace)
            sizes = await run_scripted("manus", task.request, task.replies, workspace)
            if problem := task.check(workspace):
                raise SystemExit(f"{task.name}: {problem}")
        counts = [sum(size.count(count) for size in sizes) for count in counters.values()]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        print(f"{task.name:<24}{len(sizes):>9}{''.join(f'{each:>12,}' for each in counts)}")
    print(f"{'together':<24}{'':>9}{''.join(f'{each:>12,}' for each in totals)}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", action="store_true", help="all requests of three tasks")
    args = parser.parse_args()
    asyncio.run(print_tasks() if args.tasks else print_first_requests())


if __name__ == "__main__":
    main()
