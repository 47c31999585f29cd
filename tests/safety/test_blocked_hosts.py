"""A program that is kept from a host: the user is asked once, where it happens."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command

from manus.config.profile import Profile
from manus.graph import build_agent
from tests.helpers.agent import ScriptedAgent
from tests.safety.conftest import Internet
from tests.server import Call, call, calls, text

pytestmark = pytest.mark.sandboxed

PROFILE = Profile("all", "Runs programs.", ("bash", "python_execute"), "$place", "What next?")
UNTRUSTED = "See it.\n\n<stdin>\nSee http://known.example/\n</stdin>"
NOTE = "[The user now allows connections to x.example"


def bash(command: str) -> Call:
    return call("bash", command=command)


FETCH = bash("echo once >> count; curl -sSm 9 http://x.example/a")
OTHER = bash("curl -sSm 9 -o page http://x.example/b")
BY_PYTHON = call(
    "python_execute", code="import urllib.request as u\nu.urlopen('http://x.example/c').read()"
)


@pytest.fixture
def agent(agent: ScriptedAgent, internet: Internet) -> ScriptedAgent:
    (agent.workspace.parent / "manus.toml").write_text(
        f'[egress]\nupstream_proxy = "{internet.base}"\n'
    )
    internet.pages |= {f"x.example/{path}": "<p>Kites.</p>" for path in "abc"}
    (agent.workspace / "mine.txt").write_text("Mine.")
    agent.graph = build_agent(PROFILE, checkpointer=agent.saver)
    return agent


def visited(internet: Internet) -> list[str]:
    return [request.path for request in internet.requests]


async def test_one_yes_holds_for_other_calls_of_the_run(
    agent: ScriptedAgent, internet: Internet
) -> None:
    waiting = await agent.run(FETCH, request=UNTRUSTED)
    [question] = waiting.questions
    assert "curl -sSm 9 http://x.example/a" in str(question.value["question"])
    assert visited(internet) == []
    outcome = await agent.invoke(Command(resume="yes"), OTHER, BY_PYTHON, text("Done."))
    assert outcome.stop_reason == "answered", outcome.output
    assert visited(internet) == ["x.example/b", "x.example/c"]
    assert agent.lines("count") == ["once"]
    assert NOTE in (await agent.observations())[0]


async def test_one_no_holds_for_other_calls_of_the_run(
    agent: ScriptedAgent, internet: Internet
) -> None:
    await agent.run(FETCH, request=UNTRUSTED)
    outcome = await agent.invoke(
        Command(resume="no: not there"), calls(OTHER, BY_PYTHON), text("Done.")
    )
    assert outcome.stop_reason == "answered", outcome.output
    assert visited(internet) == []
    assert "declined connections to x.example: not there" in (await agent.observations())[0]


async def test_calls_of_one_message_ask_once(agent: ScriptedAgent, internet: Internet) -> None:
    waiting = await agent.run(calls(FETCH, OTHER), request=UNTRUSTED)
    assert len(waiting.questions) == 1
    outcome = await agent.invoke(Command(resume="yes"), text("Done."))
    assert outcome.stop_reason == "answered", outcome.output
    assert visited(internet) == ["x.example/b"]


async def test_an_answer_about_the_call_is_none_about_the_host(
    agent: ScriptedAgent, internet: Internet
) -> None:
    """Also in another process each answer reaches its own question."""
    options: dict[str, Any] = {"approve": "ask"}
    await agent.run(FETCH, request=UNTRUSTED, **options)
    waiting = await agent.invoke(Command(resume="yes"), **options)
    assert waiting.stop_reason == "interrupted"
    await agent.graph.close_waiting()
    other = ScriptedAgent(agent.server, agent.workspace, agent.saver, PROFILE)
    waiting = await other.invoke(Command(resume="perhaps"), **options)
    assert "neither a clear yes nor a clear no" in waiting.output
    outcome = await other.invoke(Command(resume="no"), text("Done."), **options)
    assert outcome.stop_reason == "answered"
    assert "declined connections" in (await other.observations())[0]
    assert agent.lines("count") == ["once"]
    assert visited(internet) == []


async def test_a_result_is_kept_when_the_user_continues_without_an_answer(
    agent: ScriptedAgent, internet: Internet
) -> None:
    await agent.run(FETCH, request=UNTRUSTED)
    outcome = await agent.run(text("Hello."), request="Say hello.")
    assert outcome.stop_reason == "answered"
    assert "x.example was blocked" in (await agent.observations())[0]
    assert visited(internet) == []


async def test_a_denied_host_is_not_asked_about(agent: ScriptedAgent, internet: Internet) -> None:
    settings = agent.workspace.parent / "manus.toml"
    settings.write_text(settings.read_text() + '[approve]\ndeny = ["host(x.example)"]\n')
    outcome = await agent.run(FETCH, text("Done."), request=UNTRUSTED)
    assert outcome.stop_reason == "answered"
    assert visited(internet) == []
