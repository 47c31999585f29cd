"""How many questions everyday tasks cost a person who works in a folder of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from benchmarks.tasks.task import Attempt, Task, all_tasks, begun
from manus.graph import build_agent
from manus.graph.attachments import build_input
from manus.state.request import Request, typed_request
from tests.helpers.agent import ScriptedAgent
from tests.helpers.sandboxes import Kind, default_kind, require_sandbox
from tests.safety.conftest import Internet
from tests.safety.everyday import MORE, PAGES, SITE, Everyday, build_pages, calls_for
from tests.server import Call, text

pytestmark = pytest.mark.sandboxed

MOST = 8
"""Maximum number of questions for all of them together."""


@pytest.fixture
def agent(agent: ScriptedAgent, internet: Internet) -> ScriptedAgent:
    (agent.workspace.parent / "manus.toml").write_text(
        f'[egress]\nupstream_proxy = "{internet.base}"\n'
        '[search]\nengines = ["searxng"]\nsearxng_url = "http://search.example/searx"\n'
    )
    return agent


async def collect_questions(agent: ScriptedAgent, script: list[Call], inputs: Any) -> list[str]:
    """Return the questions of a complete run, each of which a person answers with yes."""
    agent.server.script(*script).always(text("Done."))
    questions: list[str] = []
    outcome = await agent.invoke(inputs, max_steps=60)
    while outcome.stop_reason == "interrupted":
        questions += [str(question.value["question"]) for question in outcome.questions]
        answers = {question.id: "yes" for question in outcome.questions}
        outcome = await agent.invoke(Command(resume=answers), max_steps=60)
    assert outcome.stop_reason == "answered", outcome.output
    return questions


# other tests play the pages of MiniWoB++ in a browser
OFFLINE = [task for task in all_tasks() if not task.page]

ASKED = {"terminal-lost-commit": 1}
"""Necessary questions of a task: whether its Git history may be changed. Behind Landlock nothing
guards the history."""
HELD_BEHIND_LANDLOCK = {"web-download", "a package"}
"""Tasks whose first connection is held back there: the next test plays one of them."""


BROWSED = ("web-cheapest", "web-manual", "web-script", "mixed-prices")
"""Tasks in a browser; `web-order` and `web-download` always run."""


def mark_browsed(task: Task) -> Any:
    marks = [pytest.mark.exhaustive] if task.name in BROWSED else []
    return pytest.param(task, id=task.name, marks=marks)


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("task", [mark_browsed(task) for task in OFFLINE])
async def test_a_task_of_the_benchmark_costs_no_more_than_it_has_to(
    agent: ScriptedAgent,
    internet: Internet,
    task: Task,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    if task.name in HELD_BEHIND_LANDLOCK:
        require_sandbox("bubblewrap", request.config)
    profile = "manus" if task.profile == "browser" else task.profile
    agent.graph = build_agent(profile, checkpointer=agent.saver)
    with begun(task, tmp_path / "task") as local:
        attempt = Attempt(task, local.workspace, SITE if local.site else "")
        internet.pages.update(build_pages(task, attempt.workspace.with_name("posted.jsonl")))
        agent.workspace = attempt.workspace
        questions = await collect_questions(
            agent, calls_for(task), {"request": attempt.instruction}
        )
        expected = 0 if default_kind() == "landlock" else ASKED.get(task.name, 0)
        assert len(questions) == expected, questions
        assert attempt.failure() == "", await agent.observations()


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("name", MORE)
async def test_another_task_costs_no_more_than_it_has_to(
    agent: ScriptedAgent, internet: Internet, name: str, request: pytest.FixtureRequest
) -> None:
    if name in HELD_BEHIND_LANDLOCK:
        require_sandbox("bubblewrap", request.config)
    task = MORE[name]
    agent.graph = build_agent("manus", checkpointer=agent.saver)
    internet.pages.update(PAGES)
    agent.workspace.mkdir(exist_ok=True)
    for path, content in task.files.items():
        (agent.workspace / path).write_text(content)
    questions = await collect_questions(agent, task.script, build_input(build_task_request(task)))
    assert len(questions) == task.questions, questions
    failed = [m.text for m in await agent.messages() if getattr(m, "status", "") == "error"]
    assert all("was blocked" in text for text in failed), failed


@pytest.mark.sandboxes("landlock")
async def test_behind_landlock_a_download_costs_one_question(
    agent: ScriptedAgent, internet: Internet, tmp_path: Path, sandbox_kind: Kind
) -> None:
    """The one about a program's first connection, after which the model repeats the call."""
    [task] = [task for task in all_tasks() if task.name == "web-download"]
    agent.graph = build_agent("manus", checkpointer=agent.saver)
    with begun(task, tmp_path / "task") as local:
        attempt = Attempt(task, local.workspace, SITE)
        internet.pages.update(build_pages(task, attempt.workspace.with_name("posted.jsonl")))
        agent.workspace = attempt.workspace
        opening, download, *rest = calls_for(task)
        script = [opening, download, download, *rest]
        questions = await collect_questions(agent, script, {"request": attempt.instruction})
        assert len(questions) == 1, questions
        assert attempt.failure() == "", await agent.observations()


def build_task_request(task: Everyday) -> Request:
    if not task.attached:
        return typed_request(task.request)
    request = f'{task.request}\n\n<file name="mail.txt">\n{task.attached}\n</file>'
    return Request(request, task.request, is_tainted=True)


def test_all_together_cost_few_questions() -> None:
    assert len(all_tasks()) >= 30
    assert sum([*ASKED.values(), *(task.questions for task in MORE.values())]) <= MOST
