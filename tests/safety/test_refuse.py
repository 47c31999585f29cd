"""Runs that refuse everything that would need an answer: they continue, and list the refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest
from langgraph.types import Command

from manus.config.context import Context
from manus.config.settings import Settings
from manus.graph import build_agent
from manus.graph.outcome import Outcome
from manus.runs.configuration import check_presence
from manus.state.errors import UsageError
from tests.flow.helpers import ScriptedFlow, makes, succeeds
from tests.helpers.agent import ScriptedAgent
from tests.mcp.conftest import ASKING
from tests.safety.conftest import Internet
from tests.server import call, calls, text

ENV = call("str_replace_editor", command="create", path=".env", file_text="KEY=1\n")
READ = call("bash", command="cat a.txt")
LOOK = call("web_search", query="kites")
FETCH = call("bash", command="curl -s http://new.example/page")
OPEN = call("browser_use", action="go_to_url", url="http://new.example/page")


@pytest.fixture
def agent(agent: ScriptedAgent, internet: Internet) -> ScriptedAgent:
    """Provide an agent that may have to ask about all kinds of calls."""
    internet.pages["search.example/searx/search"] = '{"results": []}'
    internet.pages["seen.example/"] = "<p>Kites.</p>"
    (agent.workspace.parent / "manus.toml").write_text(
        f'[egress]\nupstream_proxy = "{internet.base}"\n'
        '[search]\nengines = ["searxng"]\nsearxng_url = "http://search.example/searx"\n'
    )
    tools = (
        "bash",
        "str_replace_editor",
        "browser_use",
        "web_search",
        "ask_human",
        "delegate",
        "terminate",
    )
    agent.graph = build_agent(replace(ASKING, tools=tools), checkpointer=agent.saver)
    return agent


def list_refusals(outcome: Outcome) -> list[str]:
    """Return the refusals listed in the outcome, by tool."""
    return [refusal["call"].partition(":")[0] for refusal in outcome.as_json().get("refused", [])]


async def test_a_call_is_refused_reported_and_listed(agent: ScriptedAgent) -> None:
    outcome = await agent.run(ENV, text("Done."), approve="refuse")
    assert outcome.stop_reason == "answered"
    [observation] = await agent.observations()
    assert "this run refuses all questions" in observation
    assert not (agent.workspace / ".env").exists()
    [entry] = outcome.as_json()["refused"]
    assert entry["call"].startswith("str_replace_editor: create .env")
    assert entry["reason"] == ".env configures other programs"
    assert (await agent.values())["refused"] == list(outcome.refused)


async def test_calls_that_a_rule_allows_are_executed(agent: ScriptedAgent) -> None:
    allow = ("str_replace_editor(.env)",)
    outcome = await agent.run(ENV, text("Done."), allow=allow, approve="refuse")
    assert agent.lines(".env") == ["KEY=1"]
    assert list_refusals(outcome) == []


async def test_a_question_of_the_agent_is_refused(agent: ScriptedAgent) -> None:
    ask = call("ask_human", inquire="Which colour?")
    outcome = await agent.run(calls(ask), text("Done."), approve="refuse")
    assert outcome.stop_reason == "answered"
    assert "Decide yourself" in (await agent.observations())[0]
    assert [refusal["reason"] for refusal in outcome.as_json()["refused"]] == ["Which colour?"]


@pytest.mark.sandboxed
async def test_hosts_are_refused_once(agent: ScriptedAgent, internet: Internet) -> None:
    (agent.workspace / "a.txt").write_text("Mine.")
    look = call("browser_use", action="go_to_url", url="http://seen.example/")
    outcome = await agent.run(
        *(READ, look, OPEN, OPEN, FETCH, FETCH, text("Done.")),
        request="Look at seen.example.",
        approve="refuse",
    )
    assert outcome.stop_reason == "answered"
    assert internet.at("new.example") == []
    assert list_refusals(outcome) == ["browser_use", "bash"]
    assert "the user is asked" not in str(await agent.observations())


async def test_another_run_lists_only_its_own(agent: ScriptedAgent) -> None:
    await agent.run(ENV, text("Done."), approve="refuse")
    outcome = await agent.run(text("Hello."), approve="refuse")
    assert list_refusals(outcome) == []


async def test_refusals_by_a_person_are_not_listed(agent: ScriptedAgent) -> None:
    await agent.run(ENV)
    outcome = await agent.invoke(Command(resume="no"), text("Well."))
    assert list_refusals(outcome) == []
    assert [refusal["by"] for refusal in outcome.refused] == ["person"]


async def test_refusals_of_a_delegated_agent(agent: ScriptedAgent) -> None:
    task = call("delegate", task="Write it.", profile="swe")
    outcome = await agent.run(task, ENV, text("Not done."), text("Done."), approve="refuse")
    assert list_refusals(outcome) == ["str_replace_editor"]


async def test_a_flow_lists_the_refusals_of_its_steps(agent: ScriptedAgent) -> None:
    flow = ScriptedFlow(agent.server, agent.workspace, agent.saver, (agent.graph.profile,))
    flow.plans(makes("Write"))
    flow.step("Write", ENV, succeeds())
    flow.sums_up(text("All is done."))
    outcome = await flow.run(approve="refuse")
    assert outcome.stop_reason == "completed"
    assert list_refusals(outcome) == ["str_replace_editor"]


def test_plans_cannot_be_approved_unattended() -> None:
    context = Context(approve="refuse", approve_plan=True)
    with pytest.raises(UsageError, match="--approve-plan needs a person"):
        check_presence(context, Settings())
    alone = check_presence(Context(approve="refuse", interactive=True), Settings())
    assert not alone.interactive
