"""The tasks of the evaluation: each can be solved, and every check rejects wrong solutions."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.tasks.__main__ import Result, table
from benchmarks.tasks.task import Task, all_tasks, begun

# these take ten seconds each, and others of their kind are checked in the same way
SLOW = ("issue-settings", "miniwob-flight")


def rows() -> list[object]:
    rows: list[object] = []
    for task in all_tasks():
        marks = pytest.mark.exhaustive if task.name in SLOW else ()
        rows.append(pytest.param(task, id=task.name, marks=marks))
    return rows


@pytest.mark.parametrize("task", rows())
def test_the_check_accepts_only_the_solution(
    task: Task, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    if task.missing:
        pytest.skip(task.missing)
    first, second = task.wrong
    scripts = {"solution": task.solution, "untouched": "", "wrong": first, "wrong, too": second}

    def failure(name: str) -> str:
        with begun(task, tmp_path / name) as attempt:
            attempt.run(scripts[name])
            return attempt.failure()

    with ThreadPoolExecutor(4) as pool:
        failures = dict(zip(scripts, pool.map(failure, scripts), strict=True))
    assert failures.pop("solution") == ""
    for outcome, why in failures.items():
        with subtests.test(outcome=outcome, why=why):
            assert why, f"it accepts the outcome: {outcome}"
            assert "Traceback" not in why


def test_the_minimum_is_stated_for_each_task_and_printed_beside_the_turns() -> None:
    results = [
        Result(task.name, task.kind, "", "answered", 5, task.minimum_turns, 1000, None, 2.0)
        for task in all_tasks()
    ]
    lines = table(results).splitlines()
    assert lines[0].split() == ["task", "solved", "turns", "minimum", "tokens", "cost", "seconds"]
    total = sum(task.minimum_turns for task in all_tasks())
    assert lines[-1].split()[:4] == [
        "all",
        f"{len(results)}/{len(results)}",
        str(5 * len(results)),
        str(total),
    ]
    assert all(task.minimum_turns >= 2 for task in all_tasks())
