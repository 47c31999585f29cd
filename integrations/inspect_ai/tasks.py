"""The tasks of benchmarks/tasks without a web site, as a task of Inspect."""

from __future__ import annotations

import shutil
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import sandbox

from benchmarks.tasks.task import Attempt, all_tasks
from integrations.inspect_ai.agents import manus


@task  # type: ignore[untyped-decorator,unused-ignore]
def manus_tasks(only: str = "", profile: str = "swe") -> Task:
    """Return the tasks; `only`: names or kinds, with commas between them."""
    names = set(only.split(",")) if only else None
    chosen = [each for each in all_tasks() if not each.page and not (each.folder / "site").is_dir()]
    samples = [
        Sample(id=each.name, input=each.instruction.strip(), metadata={"kind": each.kind})
        for each in chosen
        if names is None or names & {each.name, each.kind}
    ]
    return Task(samples, setup=prepare(), solver=manus(profile), scorer=check(), sandbox="local")


async def _attempt(state: TaskState) -> Attempt:
    """Return the attempt in the folder of the sample's sandbox."""
    [own] = [each for each in all_tasks() if each.name == state.sample_id]
    folder = await sandbox().exec(["pwd"])
    return Attempt(own, Path(folder.stdout.strip()), "")


@solver  # type: ignore[untyped-decorator,unused-ignore]
def prepare() -> Solver:
    """Copy the files of the task, and run what prepares them."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        attempt = await _attempt(state)
        files = attempt.task.folder / "workspace"
        if files.is_dir():
            shutil.copytree(files, attempt.workspace, dirs_exist_ok=True)
        if attempt.task.setup:
            attempt.run(attempt.task.setup)
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])  # type: ignore[untyped-decorator,unused-ignore]
def check() -> Scorer:
    """Score with the task's own check, which looks at the workspace."""

    async def score(state: TaskState, target: Target) -> Score:
        failure = (await _attempt(state)).failure()
        return Score(value=0 if failure else 1, explanation=failure)

    return score
