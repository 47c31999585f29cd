"""The agent as Inspect's solver, in its process and over its bridge, with the model of the eval."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed.")

from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes

from benchmarks.tasks.task import all_tasks
from integrations.inspect_ai.agents import manus, manus_in_sandbox
from integrations.inspect_ai.tasks import manus_tasks

pytestmark = pytest.mark.filterwarnings("ignore")
ENDS = {"status": "success", "answer": "Both are done."}
RENAMES = {"command": "cat *.txt > all; mkdir -p done"}


def model(*calls: tuple[str, dict[str, Any]]) -> Any:
    outputs = [ModelOutput.for_tool_call("mockllm/model", *call) for call in calls]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=5, output_tokens=5, total_tokens=10)
    return get_model("mockllm/model", custom_outputs=outputs)


async def evaluate(task: Task, answers: Any, folder: Path) -> Any:
    [log] = await eval_async(task, model=answers, log_dir=str(folder), log_level="error")
    assert log.status == "success", log.error
    return log


@pytest.mark.parametrize("kind", ["in its process", "over its bridge"])
async def test_the_model_of_the_eval_solves_a_sample(kind: str, tmp_path: Path) -> None:
    program = str(Path(sys.executable).with_name("manus"))
    solver = manus() if kind == "in its process" else manus_in_sandbox(command=program)
    sample = Sample(input="Do both.", target="Both", files={"a.txt": "1\n"})
    task = Task([sample], solver=solver, scorer=includes(), sandbox="local")
    log = await evaluate(task, model(("bash", RENAMES), ("terminate", ENDS)), tmp_path)
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    [usage] = log.stats.model_usage.values()
    assert usage.total_tokens == 20
    assert "terminate" in str(log.samples[0].messages)


@pytest.mark.parametrize(("solves", "score"), [(True, 1.0), (False, 0.0)])
async def test_a_task_of_this_repository(solves: bool, score: float, tmp_path: Path) -> None:
    [own] = [each for each in all_tasks() if each.name == "shell-rename"]
    work = {"command": own.solution if solves else "true"}
    task = manus_tasks(only="shell-rename")
    log = await evaluate(task, model(("bash", work), ("terminate", ENDS)), tmp_path)
    assert log.results.scores[0].metrics["accuracy"].value == score
