"""The CPU time of a request on a thread that has had many requests before.

    python -m benchmarks.long_thread [--requests 200]

Each request has one step and an answer, through the Python API, with SQLite and a scripted model in
another process. The time is that of the whole process, with all its threads. So it depends little
on what else the machine does, and not at all on the model.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.agent_loop import PROFILE
from benchmarks.step_cost import Server
from benchmarks.task import request
from manus.config.context import Context
from manus.graph import build_agent
from manus.threads.sqlite import open_sqlite

_GROUP = 10
"""Requests of which the table has the median."""


async def measure(server: Server, folder: Path, requests: int) -> list[float]:
    """Return the milliseconds of CPU time of each request on one thread."""
    costs: list[float] = []
    context = Context(
        workspace=str(folder / "workspace"), model="bench", base_url=f"{server.address}/v1"
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    async with open_sqlite(folder / "threads.db") as store:
        graph = build_agent(PROFILE, checkpointer=store.saver)
        for _ in range(requests):
            inputs = {"request": request(server.new_run(1))}
            start = time.process_time()
            result = await graph.ainvoke(inputs, config, context=context)
            costs.append((time.process_time() - start) * 1000)
            assert result["output"] == "done", result
    return costs


def main() -> None:
    """Print the cost of the first and of later requests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=200)
    args = parser.parse_args()
    server = Server()
    try:
        with tempfile.TemporaryDirectory() as name:
            os.environ["HOME"] = name
            costs = asyncio.run(measure(server, Path(name), args.requests))
    finally:
        server.close()
    first = statistics.median(costs[:_GROUP])
    print("| requests before | CPU ms | ratio to the first ten |\n| ---: | ---: | ---: |")
    for start in sorted({0, _GROUP, args.requests // 2, args.requests - _GROUP}):
        cost = statistics.median(costs[start : start + _GROUP])
        print(f"| {start} | {cost:.1f} | {cost / first:.2f} |")


if __name__ == "__main__":
    main()
