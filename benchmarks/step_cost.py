"""The cost of a step compared with a plain loop over the OpenAI client, within one run.

    python -m benchmarks.step_cost [--steps 10,50,200,400] [--repeat 3]

All sides use the same scripted server without latency, the same prompt, and the same tool: a plain
function, as a user writes it, whose observations have one kilobyte. The server measures a step:
from the last byte of its reply to the last byte of the next request. The agent's side includes
checkpoints in SQLite with `durability="sync"`, the journal around the tool call, the record of the
workspace's files, and loop detection. LangChain's `create_agent` has the same checkpoints.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

_FEW = 10
_BLOCK = 512
"""Bytes of a block in the resource usage of a process."""


@dataclass(frozen=True)
class Sample:
    """One process: milliseconds between replies and requests, seconds to the first request."""

    gaps: list[float]
    first_request: float
    wall: float
    size: int
    """Bytes of the SQLite file at the end."""
    written: int
    """Bytes that the process wrote to disks."""

    @property
    def median(self) -> float:
        """Return the median step in milliseconds."""
        return statistics.median(self.gaps)

    @property
    def growth(self) -> float:
        """Return the median of the last steps divided by that of the first ones."""
        return statistics.median(self.gaps[-_FEW:]) / statistics.median(self.gaps[:_FEW])


class Server:
    """The scripted model in a separate process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.model_server"], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.address = f"http://127.0.0.1:{self._process.stdout.readline().strip()}"
        self._runs = 0

    def new_run(self, steps: int, latency: int = 0) -> str:
        """Return the name of a new run."""
        self._runs += 1
        return f"run r{self._runs} of {steps} steps, {latency} ms"

    def measured(self, name: str) -> dict[str, object]:
        """Return the measurements of a run."""
        with urllib.request.urlopen(f"{self.address}/gaps/{name.split()[1]}") as answer:
            data: dict[str, object] = json.load(answer)
            return data

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()


def measure(
    server: Server, side: str, steps: int, runs: int = 1, latency: int = 0, *options: str
) -> Sample:
    """Run one process of a side with this many concurrent runs."""
    names = [server.new_run(steps, latency) for _ in range(runs)]
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "threads.db"
        own = [] if side == "plain_loop" else [str(database), str(Path(folder) / "workspace")]
        blocks = resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock
        began = time.monotonic()
        command = [sys.executable, "-m", f"benchmarks.{side}", f"{server.address}/v1", *own]
        subprocess.run([*command, *options, *names], check=True, env=_environment(folder))
        wall = time.monotonic() - began
        blocks = resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock - blocks
        size = database.stat().st_size if database.exists() else 0
    measurements = [server.measured(name) for name in names]
    gaps = [float(gap) for run in measurements for gap in run["gaps"]]  # type: ignore[attr-defined]
    first = min(float(run["first"]) for run in measurements) - began  # type: ignore[arg-type]
    return Sample(gaps, first, wall, size, blocks * _BLOCK)


def _environment(home: str) -> dict[str, str]:
    dropped = ("MANUS_", "PYTHONDONTWRITEBYTECODE")
    environment = {name: v for name, v in os.environ.items() if not name.startswith(dropped)}
    return {**environment, "HOME": home}


def middle(samples: list[Sample]) -> Sample:
    """Return the sample that has the median of the medians."""
    return sorted(samples, key=lambda sample: sample.median)[len(samples) // 2]


def step_table(server: Server, steps: list[int], repeat: int) -> None:
    """Print the cost of a step for each length of run: invoked, and streamed to a terminal."""
    print(
        "| steps | plain loop ms | create_agent ms | agent ms | agent / plain | "
        "agent / create_agent | streamed / agent | last ten / first ten | "
        "kept MB: create_agent, agent | written MB: create_agent, agent |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for count in steps:
        rounds = [
            (
                measure(server, "plain_loop", count),
                measure(server, "create_agent_loop", count),
                measure(server, "agent_loop", count),
                measure(server, "agent_loop", count, 1, 0, "--streamed"),
            )
            for _ in range(repeat)
        ]
        plain, other, ours, streamed = (middle(list(side)) for side in zip(*rounds, strict=True))
        print(
            f"| {count} | {plain.median:.1f} | {other.median:.1f} | {ours.median:.1f} | "
            f"{ours.median / plain.median:.2f} | {ours.median / other.median:.2f} | "
            f"{streamed.median / ours.median:.2f} | {plain.growth:.1f} → {ours.growth:.1f} | "
            f"{other.size / 1e6:.2f}, {ours.size / 1e6:.2f} | "
            f"{other.written / 1e6:.1f}, {ours.written / 1e6:.1f} |",
            flush=True,
        )


def start_table(server: Server, repeat: int) -> None:
    """Print the time from the start of the process to the first request."""
    sides = ("plain_loop", "agent_loop")
    pairs = [[measure(server, side, 1).first_request for side in sides] for _ in range(repeat)]
    plain, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(b / a for a, b in pairs)
    print("\n| | plain loop s | agent s | ratio |\n| --- | ---: | ---: | ---: |")
    print(
        f"| process start to first request | {plain:.2f} | {ours:.2f} | {ratio:.2f} |", flush=True
    )


def many_table(server: Server, repeat: int, runs: int = 50, steps: int = 20) -> None:
    """Print the wall time of many concurrent runs in one process."""
    sides = ("plain_loop", "create_agent_loop", "agent_loop")
    rounds = [
        [measure(server, side, steps, runs, 200).wall for side in sides] for _ in range(repeat)
    ]
    plain, other, ours = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(
        "\n| | plain loop s | create_agent s | agent s | agent / plain | agent / create_agent |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    name = f"{runs} runs of {steps} steps at once, 200 ms latency"
    print(
        f"| {name} | {plain:.1f} | {other:.1f} | {ours:.1f} | {ours / plain:.2f} | "
        f"{ours / other:.2f} |",
        flush=True,
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", default="10,50,200,400")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=("steps", "start", "many"))
    args = parser.parse_args()
    server = Server()
    try:
        if args.only in (None, "steps"):
            step_table(server, [int(n) for n in args.steps.split(",")], args.repeat)
        if args.only in (None, "start"):
            start_table(server, args.repeat)
        if args.only in (None, "many"):
            many_table(server, args.repeat)
    finally:
        server.close()


if __name__ == "__main__":
    main()
