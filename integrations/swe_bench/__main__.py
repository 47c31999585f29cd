"""Write predictions.jsonl for SWE-bench: one patch for each instance, from local checkouts.

The same command goes on after it was stopped: an instance with a prediction is left out, and a
thread that was interrupted is resumed. Options after `--` are those of `manus run`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ENDED = ("terminated", "answered", "completed", "max_steps", "budget", "stuck", "plan_incomplete")
"""Stop reasons after which there is a prediction; any other run is resumed the next time."""
_USAGE = 2
"""The exit code of manus for a thread that does not exist yet."""


class UnfinishedError(Exception):
    """A run that has no result yet; the message is the reason."""


@dataclass(frozen=True)
class Instance:
    """An issue, and the checkout of the repository that has it."""

    name: str
    issue: str
    commit: str
    checkout: Path


@dataclass(frozen=True)
class Attempt:
    """The folders of an instance below the output folder."""

    instance: Instance
    out: Path

    @property
    def workspace(self) -> Path:
        """Return the clone that the agent works in."""
        return self.out / "workspaces" / self.instance.name

    @property
    def _git(self) -> list[str]:
        # a repository that no program of the run can configure
        return ["git", f"--git-dir={self.out / 'git' / self.instance.name}"]

    def prepare(self) -> None:
        """Clone the checkout at the instance's commit, unless that is done."""
        marker = self.out / "git" / self.instance.name / "prepared"
        if marker.exists():
            return
        git = Path(self._git[1].partition("=")[2])
        for folder in (git, self.workspace):
            subprocess.run(["rm", "-rf", str(folder)], check=True)
        _run("git", "clone", "--quiet", "--bare", str(self.instance.checkout), str(git))
        _run("git", "clone", "--quiet", "--no-checkout", str(git), str(self.workspace))
        _run("git", "-C", str(self.workspace), "checkout", "--quiet", self.instance.commit)
        marker.touch()

    def work(self, options: Sequence[str]) -> dict[str, Any]:
        """Run the agent to the end, from where it was interrupted if it was.

        Raises:
            UnfinishedError: it has not come to an end, for example for lack of a model server.
        """
        self.prepare()
        store = self.out / "threads" / f"{self.instance.name}.sqlite"
        store.parent.mkdir(exist_ok=True)
        run = ["--json", "--quiet", "--workspace", str(self.workspace), "--approve", "yolo"]
        run += [*options, "--thread", self.instance.name]
        process = _manus(store, "resume", *run) if store.exists() else None
        if process is None or process.returncode == _USAGE:
            process = _manus(store, "run", *run, "--", self.instance.issue)
        try:
            outcome: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            raise UnfinishedError(process.stderr.strip()[-500:]) from None
        if outcome["stop_reason"] not in _ENDED:
            raise UnfinishedError(str(outcome["output"]))
        return outcome

    def diff(self) -> str:
        """Return the changes of the workspace since the instance's commit, new files included."""
        git = [*self._git, f"--work-tree={self.workspace}"]
        _run(*git, "read-tree", self.instance.commit)
        _run(*git, "add", "--all")
        return _run(*git, "diff", "--cached", "--binary", "--no-ext-diff", self.instance.commit)


def _manus(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "manus", *arguments],
        env={**os.environ, "MANUS_CHECKPOINT": str(store)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _run(*command: str) -> str:
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        raise UnfinishedError(process.stderr.strip())
    return process.stdout


def read_instances(file: Path, checkouts: Path) -> list[Instance]:
    """Read JSON lines with `instance_id`, `problem_statement` and `base_commit` (else HEAD)."""
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return [
        Instance(
            line["instance_id"],
            line["problem_statement"],
            line.get("base_commit", "HEAD"),
            checkouts / line["instance_id"],
        )
        for line in lines
    ]


def main() -> int:
    """Predict each instance that has no prediction yet; return 1 if one could not be finished."""
    parser = argparse.ArgumentParser(
        prog="python -m integrations.swe_bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("instances", type=Path, help="JSON lines, as in the data set")
    parser.add_argument("--checkouts", type=Path, required=True, help="folder of repositories")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--workers", type=int, default=4, help="instances at the same time (4)")
    parser.add_argument("--name", default="manus", help="model_name_or_path of the predictions")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args, options = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1 :]
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    predictions = out / "predictions.jsonl"
    lines = predictions.read_text("utf-8").splitlines() if predictions.exists() else []
    done = {json.loads(line)["instance_id"] for line in lines}
    instances = read_instances(args.instances, args.checkouts.resolve())
    attempts = [Attempt(instance, out) for instance in instances if instance.name not in done]
    unfinished = 0
    with ThreadPoolExecutor(args.workers) as pool:
        working = {pool.submit(each.work, options): each for each in attempts}
        for future in as_completed(working):
            attempt = working[future]
            name = attempt.instance.name
            try:
                outcome = future.result()
                line = {"instance_id": name, "model_name_or_path": args.name}
                line["model_patch"] = attempt.diff()
            except UnfinishedError as error:
                print(f"{name}: not finished. {error}", file=sys.stderr)
                unfinished += 1
                continue
            with predictions.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            print(f"{name}: {outcome['stop_reason']}", file=sys.stderr)
    return int(unfinished > 0)


if __name__ == "__main__":
    sys.exit(main())
