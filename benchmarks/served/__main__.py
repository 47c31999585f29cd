"""Two instances of Aegra: the cost of a failure of one of them, for manus and for `create_agent`.

    python -m benchmarks.served [--environment FOLDER] [--only TEXT] [--graph GRAPH]
    python -m benchmarks.served --load [--threads 200] [--steps 10]
    python -m benchmarks.served --growth [--sizes 100,1000,10000]

PostgreSQL, Redis and the two instances are started on loopback, in a temporary folder, with a
scripted model. The instances share only these and the workspace. Each tool call appends its
number to a file. The environment of Aegra (Python >= 3.12) is created in FOLDER if it is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from benchmarks.served import environment, growth, load
from benchmarks.served.cluster import start_cluster
from benchmarks.served.scenarios import FLOWS, SCENARIOS, Result

_NAMES = {"agent": "manus", "flow": "manus", "langchain_agent": "`create_agent`"}
_HEAD = (
    "| failure | agent | runs succeeded | effects | doubled | in doubt | lost, not reported "
    "| paid twice | takeover s |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def format_row(name: str, graph: str, result: Result) -> str:
    """Return a row of the table."""
    takeover = "–" if result.takeover is None else f"{result.takeover:.1f}"
    effects = f"{result.effects} of {result.expected}"
    cells = [name, _NAMES[graph], f"{result.succeeded} of {result.runs}", effects]
    cells += [str(n) for n in (result.doubled, result.in_doubt, result.unreported)]
    return f"| {' | '.join([*cells, str(result.repeated), takeover])} |"


async def measure_failures(python: Path, only: str, graph: str | None) -> None:
    """Print the table of the scenarios."""
    print(_HEAD, flush=True)
    async with start_cluster(python) as cluster:
        for name, scenario in SCENARIOS.items():
            graphs = ["flow"] if scenario in FLOWS else ["agent", "langchain_agent"]
            for each in graphs:
                if only in name and graph in (None, each):
                    result = await scenario(cluster, each)
                    print(format_row(name, each, result), flush=True)


async def measure_load(python: Path, graph: str | None, threads: int, steps: int) -> None:
    """Print the table of many runs at once."""
    print(load.format_head(), flush=True)
    for each in ("agent", "langchain_agent"):
        if graph in (None, each):
            sample = await load.measure_load(python, each, threads, steps)
            print(load.format_row(_NAMES[each], steps, sample), flush=True)


async def measure_growth(python: Path, sizes: list[int]) -> None:
    """Print the table of many finished threads."""
    print(growth.format_head(), flush=True)
    for kind, name in (("sqlite", "SQLite"), ("postgres", "PostgreSQL")):
        async for size, sample in growth.measure_growth(kind, sizes):
            print(growth.format_row(name, size, sample), flush=True)
    async for size, sample in growth.measure_aegra_growth(python, sizes):
        print(growth.format_row("Aegra", size, sample), flush=True)


def main() -> None:
    """Prepare the environment, and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environment", type=Path, default=environment.DEFAULT)
    parser.add_argument("--only", default="", help="scenarios whose name contains this text")
    parser.add_argument("--graph", choices=_NAMES)
    parser.add_argument("--load", action="store_true", help="measure many runs at once instead")
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--growth", action="store_true", help="measure finished threads instead")
    parser.add_argument("--sizes", default="100,1000,10000", help="numbers of finished threads")
    options = parser.parse_args()
    environment.prepare(options.environment)
    if missing := environment.find_missing(options.environment):
        sys.exit(f"Missing on this machine: {'; '.join(missing)}.")
    python = environment.find_python(options.environment)
    assert python is not None
    if options.growth:
        asyncio.run(measure_growth(python, [int(size) for size in options.sizes.split(",")]))
        return
    if options.load:
        asyncio.run(measure_load(python, options.graph, options.threads, options.steps))
        return
    asyncio.run(measure_failures(python, options.only, options.graph))


if __name__ == "__main__":
    main()
