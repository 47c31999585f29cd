"""The tasks of the evaluation: each can be solved, and no check takes what is not a solution."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.tasks.__main__ import main as run_the_tasks
from benchmarks.tasks.task import Task, all_tasks, begun
from tests.server import ScriptedServer, call, mentions, text

TASKS = all_tasks()


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """What each check says: of the recorded solution, of nothing, and of both wrong outcomes."""
    folder = tmp_path_factory.mktemp("tasks")
    scripts = [
        (task, name, script)
        for task in TASKS
        for name, script in [
            ("solution", task.solution),
            ("untouched", ""),
            *((f"wrong {number}", wrong) for number, wrong in enumerate(task.wrong)),
        ]
    ]

    def failure(given: tuple[Task, str, str]) -> str:
        task, name, script = given
        with begun(task, Path(folder, task.name, name)) as attempt:
            attempt.run(script)
            return attempt.failure()

    with ThreadPoolExecutor(4) as pool:
        said = pool.map(failure, scripts)
        return {(task.name, name): why for (task, name, _), why in zip(scripts, said, strict=True)}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_check_takes_the_solution_and_nothing_else(
    task: Task, failures: dict[tuple[str, str], str]
) -> None:
    assert failures[task.name, "solution"] == ""
    assert len(task.wrong) == 2
    for name in ("untouched", "wrong 0", "wrong 1"):
        said = failures[task.name, name]
        assert said, f"it takes the outcome: {name}"
        assert "Traceback" not in said


def test_there_are_thirty_of_five_kinds() -> None:
    assert len(TASKS) == 30
    assert {task.kind for task in TASKS} == {"swe", "shell", "data", "web", "mixed"}


def test_the_runner_says_what_an_agent_has_solved(
    server: ScriptedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    [checksums] = [task for task in TASKS if task.name == "shell-checksums"]
    works = server.when(mentions("SHA256SUMS"), call("bash", command=checksums.solution))
    works.script(call("terminate", status="success", answer="Done."))
    server.when(mentions("spans.py"), text("It is fixed."))
    names = ["--only", "shell-checksums,swe-intervals", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["benchmarks.tasks", "--model", "scripted", *names])
    monkeypatch.setenv("MANUS_BASE_URL", server.base_url)
    monkeypatch.setenv("MANUS_API_KEY", "x")
    run_the_tasks()
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["shell-checksums", "yes", "2"]
    assert lines[2].split()[:3] == ["swe-intervals", "no", "1"]
    assert "answered" in lines[2]
    assert [line.split()[:2] for line in lines[4:7]] == [
        ["shell", "1/1"],
        ["swe", "0/1"],
        ["all", "1/2"],
    ]
    solved, failed = json.loads((tmp_path / "out" / "results.json").read_text())
    assert (solved["failure"], solved["stop_reason"]) == ("", "terminated")
    assert failed["failure"]
    assert solved["tokens"] > failed["tokens"] > 0
