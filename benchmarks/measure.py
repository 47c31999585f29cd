"""Run the measurements that need no model, and write docs/measurements.md: `make measure`.

    python -m benchmarks.measure [--only step-cost,faults] [--out FILE]

The page has only what these commands printed. A measurement that is not repeated loses its section.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PEERS = ("langgraph", "langchain", "langchain-openai", "openai", "deepagents", "playwright")
_LIMIT = 1_800
"""Seconds for one measurement."""


class Measurement(NamedTuple):
    """A command whose output is a section of the page."""

    title: str
    explanation: str
    command: str


MEASUREMENTS = {
    "requests": Measurement(
        "Tokens of the first request", "By profile.", "benchmarks.request_size"
    ),
    "task-requests": Measurement(
        "Tokens of three tasks",
        "All requests of three tasks whose replies are fixed.",
        "benchmarks.request_size --tasks",
    ),
    "step-cost": Measurement(
        "Cost of a step",
        "Milliseconds of the agent's side of a step, beside a plain loop and `create_agent`.",
        "benchmarks.step_cost --steps 50,200 --repeat 3",
    ),
    "storage": Measurement(
        "Storage", "The size of a thread after 200 steps.", "benchmarks.checkpoint_size"
    ),
    "faults": Measurement(
        "Faults",
        "Calls that were executed twice, silently lost, or reported to the model as in doubt.",
        "benchmarks.faults --trials 3",
    ),
    "sandbox": Measurement("Sandbox", "Its overhead in milliseconds.", "benchmarks.sandbox"),
    "attacks": Measurement(
        "Attacks on the sandbox",
        "The attempts to escape, to leak and to persist that the suite makes with each sandbox.",
        "pytest tests/safety/escape -q -p no:cacheprovider",
    ),
    "pages": Measurement(
        "Text of pages",
        "The tokens of 20 pages as the model reads them, beside Playwright's `aria_snapshot`.",
        "benchmarks.browser",
    ),
    "miniwob": Measurement(
        "MiniWoB++",
        "Pages that scripts solve with nothing but the browser tool, three episodes each.",
        "benchmarks.miniwob --seeds 3",
    ),
}


def describe_machine() -> str:
    """Return the versions and the kind of machine that the figures belong to."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    lines = [
        f"- {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {_describe_commit()}",
        f"- {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, {memory:.0f} GiB; "
        f"load average at the start: {load:.1f}",
        f"- Python {platform.python_version()}, {', '.join(filter(None, map(_installed, PEERS)))}",
    ]
    return "\n".join(lines)


def _describe_commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return process.stdout.strip() or "unknown"


def _installed(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return ""


def measure(measurement: Measurement) -> str:
    """Return the section of a measurement; one that fails has its reason in place of figures."""
    print(f"{measurement.title} ...", file=sys.stderr)
    began = time.monotonic()
    command = [sys.executable, "-m", *shlex.split(measurement.command)]
    try:
        process = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        result = f"Not measured: it took more than {_LIMIT} seconds."
    else:
        result = f"```text\n{process.stdout.strip()}\n```"
        if process.returncode:
            reason = (process.stderr.strip() or process.stdout.strip()).splitlines()[-1:]
            result = f"Not measured: exit code {process.returncode}. {''.join(reason)}"
    seconds = time.monotonic() - began
    return (
        f"## {measurement.title}\n\n{measurement.explanation}\n\n"
        f"```console\n$ python -m {measurement.command}\n```\n\n{result}\n\n"
        f"(measured in {seconds:.0f} s)\n"
    )


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measure", description=__doc__)
    parser.add_argument("--only", metavar="NAMES", help=", ".join(MEASUREMENTS))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "measurements.md")
    args = parser.parse_args()
    names = args.only.split(",") if args.only else [*MEASUREMENTS]
    if unknown := set(names) - set(MEASUREMENTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    head = f"# Measurements\n\nWritten by `make measure`.\n\n{describe_machine()}\n"
    sections = [measure(MEASUREMENTS[name]) for name in names]
    args.out.write_text("\n".join([head, *sections]), "utf-8")
    print(args.out)


if __name__ == "__main__":
    main()
