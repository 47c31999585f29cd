"""`python -m benchmarks.tasks --model PROVIDER:NAME`: run an agent on the tasks and check them."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.tasks.comparison import compare, read_summaries
from benchmarks.tasks.task import Attempt, Task, all_tasks, begun

_SETTINGS = '[egress]\nallow_private = ["127.0.0.1"]\n'
"""The sites of the tasks are served on loopback."""


@dataclass
class Result:
    """The result of a task. `failure` is the message of the check; empty if the task is solved.

    `turns` are the requests of all its agents to the model; `minimum_turns` those of a run without
    detours.
    """

    name: str
    kind: str
    failure: str
    stop_reason: str
    turns: int
    minimum_turns: int
    tokens: int
    cost: float | None
    seconds: float
    repeat: int = 0


def attempt(
    task: Task, folder: Path, options: Sequence[str], seconds: int, agent: str = "", repeat: int = 0
) -> Result:
    """Let the agent work on a task in a folder of its own, and check the result.

    `agent` is the shell command of another agent; it gets the instruction as INSTRUCTION.
    """
    with begun(task, folder) as work:
        began = time.monotonic()
        outcome = (
            _run_other(work, agent, seconds) if agent else _run(work, folder, options, seconds)
        )
        took, usage = time.monotonic() - began, outcome.get("usage", {})
        return Result(
            task.name,
            task.kind,
            work.failure(),
            str(outcome.get("stop_reason")),
            usage.get("roles", {}).get("main", {}).get("model_calls", 0),
            task.minimum_turns,
            usage.get("input_tokens", 0) + usage.get("output_tokens", 0),
            usage.get("cost"),
            round(took, 1),
            repeat,
        )


def _run_other(work: Attempt, command: str, seconds: int) -> dict[str, Any]:
    """Run another agent in the workspace; its turns and tokens are not known."""
    try:
        process = subprocess.run(
            ["sh", "-c", command],
            cwd=work.workspace,
            env={**os.environ, "INSTRUCTION": work.instruction},
            timeout=seconds,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return {"stop_reason": "it did not end"}
    return {"stop_reason": f"exit code {process.returncode}"}


def _run(work: Attempt, folder: Path, options: Sequence[str], seconds: int) -> dict[str, Any]:
    """Return the outcome as printed by `manus run --json`, or the reason why there is none."""
    (folder / "manus.toml").write_text(_SETTINGS)
    (folder / "instruction.txt").write_text(work.instruction)
    place = ["--workspace", str(work.workspace), "--budget", f"seconds={seconds}"]
    command = [sys.executable, "-m", "manus", "run", "--json", "--quiet", *place, *options]
    store = {"MANUS_TRUST": "1", "MANUS_CHECKPOINT": str(folder / "threads.sqlite")}
    try:
        process = subprocess.run(
            [*command, "--", work.instruction],
            cwd=folder,
            env={**os.environ, **store},
            timeout=seconds + 60,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        outcome: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"stop_reason": "it did not end"}
    except (IndexError, ValueError):
        return {"stop_reason": (process.stderr.strip().splitlines() or ["nothing was printed"])[-1]}
    return outcome


def table(results: Sequence[Result]) -> str:
    """Format the results, one per line, and their totals by kind."""
    head = f"{'task':<22} {'solved':<7} {'turns':>5} {'minimum':>7} {'tokens':>9}"
    lines = [f"{head} {'cost':>8} {'seconds':>8}"]
    for entry in results:
        why = f"  {entry.stop_reason}: {entry.failure}" if entry.failure else ""
        lines.append(_line(entry.name, "no" if entry.failure else "yes", [entry]) + why[:120])
    lines.append("")
    kinds = list(dict.fromkeys(entry.kind for entry in results))
    for kind in [*kinds, "all"]:
        of_kind = [entry for entry in results if kind in (entry.kind, "all")]
        solved = sum(not entry.failure for entry in of_kind)
        lines.append(_line(kind, f"{solved}/{len(of_kind)}", of_kind))
    return "\n".join(lines)


def _line(name: str, solved: str, results: Sequence[Result]) -> str:
    costs = [entry.cost for entry in results if entry.cost is not None]
    cost = f"{sum(costs):.3f}" if costs else "-"
    turns = sum(result.turns for result in results)
    minimum = sum(result.minimum_turns for result in results)
    tokens = sum(result.tokens for result in results)
    seconds = sum(result.seconds for result in results)
    numbers = f"{turns:>5} {minimum:>7} {tokens:>9,} {cost:>8} {seconds:>8.1f}"
    return f"{name:<22} {solved:<7} {numbers}"


def _read_results(record: Path) -> list[Result]:
    """Return the results of a run that was stopped; nothing is attempted twice."""
    if not record.exists():
        return []
    return [Result(**json.loads(line)) for line in record.read_text("utf-8").splitlines()]


def main() -> None:
    """Run the tasks one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tasks", description=__doc__)
    parser.add_argument("--model", help="PROVIDER:NAME; else as configured by MANUS_MODEL")
    parser.add_argument("--profile", help="one for all tasks, in place of each task's own")
    parser.add_argument("--only", metavar="NAMES", help="names or kinds, with commas between them")
    parser.add_argument("--seconds", type=int, default=900, help="for each task (900)")
    parser.add_argument("--out", type=Path, help="a folder for workspaces, threads and results")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="attempts of each task")
    parser.add_argument("--agent", metavar="COMMAND", help="another agent, as a shell command")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("A", "B"), help="two folders")
    args = parser.parse_args()
    if args.compare:
        print(compare(*map(read_summaries, args.compare)))
        return
    names = args.only.split(",") if args.only else None
    tasks = [t for t in all_tasks() if names is None or {t.name, t.kind} & set(names)]
    if not tasks:
        parser.error("no task has such a name or kind")
    out = (args.out or Path(tempfile.mkdtemp(prefix="manus-tasks-"))).resolve()
    out.mkdir(parents=True, exist_ok=True)
    record = out / "results.jsonl"
    results = _read_results(record)
    done = {(entry.name, entry.repeat) for entry in results}
    for repeat, task in itertools.product(range(args.repeat), tasks):
        if task.missing or (task.name, repeat) in done:
            reason = task.missing or "It has a result."
            print(f"{task.name}: skipped. {reason}", file=sys.stderr)
            continue
        options = ["--profile", args.profile or task.profile, "--approve", "yolo"]
        options += ["--model", args.model] if args.model else []
        folder = out / (f"{task.name}-{repeat + 1}" if repeat else task.name)
        shutil.rmtree(folder, ignore_errors=True)  # an attempt that was killed begins again
        result = attempt(task, folder, options, args.seconds, args.agent or "", repeat)
        results.append(result)
        with record.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        print(f"{task.name}: {result.failure or 'solved'}", file=sys.stderr)
    print(table(results))
    print(f"\nWorkspaces, threads and results.jsonl: {out}")


if __name__ == "__main__":
    main()
