"""The tasks of the evaluation: each can be solved, and no check takes what is not a solution."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.tasks.task import Task, all_tasks, begun


@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
def test_the_check_takes_the_solution_and_nothing_else(
    task: Task, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    one, other = task.wrong
    scripts = {"solution": task.solution, "untouched": "", "wrong": one, "wrong, too": other}

    def failure(name: str) -> str:
        with begun(task, tmp_path / name) as attempt:
            attempt.run(scripts[name])
            return attempt.failure()

    with ThreadPoolExecutor(4) as pool:
        said = dict(zip(scripts, pool.map(failure, scripts), strict=True))
    assert said.pop("solution") == ""
    for outcome, why in said.items():
        with subtests.test(outcome=outcome, why=why):
            assert why, f"it takes the outcome: {outcome}"
            assert "Traceback" not in why
