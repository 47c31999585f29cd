"""The tasks of the evaluation: each can be solved, and every check rejects wrong solutions."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.tasks.__main__ import Result, table
from benchmarks.tasks.comparison import interval, sign_test
from benchmarks.tasks.task import Task, all_tasks, begun


@pytest.mark.sample(every=4)
@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
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


def run_tasks(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.tasks", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_runs_are_repeated_stopped_and_compared(tmp_path: Path) -> None:
    """Shell commands stand for agents: one does nothing, the other one solves a task."""
    [task] = [each for each in all_tasks() if each.name == "shell-rename"]
    common = ("--only", "shell-rename,data-flatten", "--repeat", "2", "--out")
    idle = (*common, str(tmp_path / "a"), "--agent", f"touch {tmp_path}/begun-$$")
    run_tasks(*idle)
    assert len([*tmp_path.glob("begun-*")]) == 4
    record = tmp_path / "a" / "results.jsonl"
    record.write_text("".join(record.read_text().splitlines(keepends=True)[:3]))
    run_tasks(*idle)
    assert len([*tmp_path.glob("begun-*")]) == 5, "only the lost attempt is repeated"
    run_tasks(*common, str(tmp_path / "b"), "--agent", f"if test -d scans; then {task.solution} fi")
    output = run_tasks("--compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert "A: 0 of 4 solved (0%" in output
    assert "B: 2 of 4 solved (50%" in output
    assert "Solved by B alone, or more often: shell-rename\n" in output
    assert "1 better, 0 worse, 1 equal of 2 tasks; sign test p = 1.000" in output


def test_the_statistics_are_those_of_the_tables() -> None:
    assert interval(8, 10) == pytest.approx((0.490, 0.943), abs=0.001)
    assert interval(0, 10) == pytest.approx((0.0, 0.278), abs=0.001)
    assert sign_test(5, 0) == pytest.approx(0.0625)
    assert sign_test(1, 1) == 1.0
