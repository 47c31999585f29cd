"""Compactions under bad conditions: models that fail, small windows, long talks, two endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from manus.models.windows import forget_windows
from manus.nodes.context.compaction import is_summary
from manus.nodes.context.numbers import numbers_in
from manus.state.messages import text_of
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.helpers.long_run import FINDER, LOOKER, REQUEST, SUMMARIZER, sent_by
from tests.server import Message, Request, ScriptedServer, call, fail, mentions, text, tokens

OVERFLOW = fail(400, code="context_length_exceeded")
LOOKS = [call("look", place=place) for place in range(1, 9)]


@pytest.fixture
def looker(agent: ScriptedAgent) -> ScriptedAgent:
    return ScriptedAgent(agent.server, agent.workspace, agent.saver, LOOKER)


def answers(agent: ScriptedAgent, notes: str = "", rules: str = "NONE") -> None:
    """What the model says when it is asked for notes and for instructions."""
    agent.server.when(mentions(SUMMARIZER)).always(text(notes, usage=tokens(10, 10)))
    agent.server.when(mentions(FINDER)).always(text(rules, usage=tokens(10, 10)))


def asked(agent: ScriptedAgent, words: str) -> list[Request]:
    return [request for request in agent.server.requests if words in request.text]


async def notes_of(agent: ScriptedAgent) -> str:
    [notes] = [text_of(m) for m in await agent.messages() if is_summary(m)]
    return notes


@pytest.mark.parametrize(
    "said",
    [
        "",
        "   \n\n",
        "- The code is 999 [#1]",
        "- The code is 999",
        "1" * 5_000,
        "[#1]",
        "- ٩٩٩ [#1]",
        "- 九百九十九 [#1]",
        "- 1 million [#1]",
        "- 1½ [#1]",
    ],
)
async def test_notes_that_say_nothing_or_make_things_up_are_made_from_the_steps(
    looker: ScriptedAgent, said: str
) -> None:
    answers(looker, said)
    await looker.run(*LOOKS, OVERFLOW, text("done"), request=REQUEST)
    notes = await notes_of(looker)
    assert "- look → Place 1." in notes
    assert not numbers_in(notes) & {"999", "1" * 5_000}


async def test_instructions_are_looked_for_again_where_the_model_had_failed(
    looker: ScriptedAgent,
) -> None:
    rules = ["始终用中文回答", "never touch main"]
    looker.server.when(mentions(SUMMARIZER)).always(fail(401))
    finder = looker.server.when(mentions(FINDER)).script(fail(401))
    finder.always(text("「始终用中文回答」\n- never touch main", usage=tokens(10, 10)))
    request = "看看所有的地方。始终用\n中文回答，不要问我。And never\ntouch main."
    await looker.run(*LOOKS, OVERFLOW, text("done"), request=request)
    assert (await looker.values())["compaction"]["instructions"] == []
    forget_windows()
    await looker.run(*LOOKS, OVERFLOW, text("done"), request="Go on.")
    assert (await looker.values())["compaction"]["instructions"] == rules
    assert all(f"- {rule}" in str(sent_by(looker)[-1].messages[0]["content"]) for rule in rules)


async def test_an_instruction_that_the_user_takes_back_is_given_up(looker: ScriptedAgent) -> None:
    looker.server.when(mentions(SUMMARIZER)).always(text("", usage=tokens(10, 10)))
    back = text("TAKEN BACK: Réponds en français | Speak English again", usage=tokens(10, 10))
    found = text("never touch main\nRéponds en français", usage=tokens(10, 10))
    finder = looker.server.when(mentions(FINDER)).script(found, back)
    request = "Look. never touch main! Réponds en français, toujours."
    await looker.run(*LOOKS, OVERFLOW, text("fait"), request=request)
    rules = (await looker.values())["compaction"]["instructions"]
    assert rules == ["never touch main", "Réponds en français"]
    await looker.run(*LOOKS, OVERFLOW, text("done"), request="Speak English again.")
    assert (await looker.values())["compaction"]["instructions"] == ["never touch main"]
    system = str(sent_by(looker)[-1].messages[0]["content"])
    assert "- never touch main" in system
    assert "français" not in system
    listed = str(asked(looker, FINDER)[-1].last["content"])
    assert listed.endswith(
        "- Réponds en français\n\nWhat the user wrote since:\nSpeak English again."
    )
    del finder


async def test_a_summarizer_with_a_small_window_is_asked_for_parts(
    looker: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "manus.toml").write_text(
        f'[roles.summary]\nmodel = "small"\nbase_url = "{looker.server.base_url}"\n'
        "context_window = 4000\n"
    )
    monkeypatch.setenv("MANUS_API_KEY", "sk")
    answers(looker)
    looks = [call("look", place=place) for place in range(1, 31)]
    await looker.run(*looks, OVERFLOW, text("done"), request=REQUEST, max_steps=40)
    sent = asked(looker, SUMMARIZER)
    assert len(sent) > 1
    assert {request.model for request in sent} == {"small"}
    assert max(len(request.raw) for request in sent) < 4 * 4_000


async def test_a_summarizer_that_refuses_as_too_large_is_asked_for_less(
    looker: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_API_KEY", "sk")
    (tmp_path / "manus.toml").write_text(
        f'[roles.summary]\nmodel = "small"\nbase_url = "{looker.server.base_url}"\n'
    )

    def too_large(request: Request) -> bool:
        return request.model == "small" and len(request.raw) > 6_000

    looker.server.when(too_large).always(OVERFLOW)
    answers(looker, "- A wall [#1]", "never touch main")
    request = "Never mind.\n" * 900 + "never touch main"
    outcome = await looker.run(*LOOKS, OVERFLOW, text("done"), request=request)
    assert outcome.output == "done"
    assert "- A wall [#1]" in await notes_of(looker)
    assert (await looker.values())["compaction"]["instructions"] == ["never touch main"]


async def test_a_fallback_with_a_smaller_window_gets_what_it_can_read(
    looker: ScriptedAgent,
    new_server: Callable[[], ScriptedServer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    second = new_server()
    monkeypatch.setenv("MANUS_BASE_URL", looker.server.base_url)
    monkeypatch.setenv("MANUS_API_KEY", "sk")
    (tmp_path / "manus.toml").write_text(
        f'context_window = 100000\nfallback = [{{model = "other", base_url = "{second.base_url}", '
        "context_window = 6000}]\n"
    )
    looker.server.when(mentions(SUMMARIZER)).always(fail(401))
    looker.server.when(mentions(FINDER)).always(fail(401))
    second.when(mentions(SUMMARIZER)).always(text("- A wall [#2]", usage=tokens(9, 9)))
    second.when(mentions(FINDER)).always(text("NONE", usage=tokens(9, 9)))

    def too_large(request: Request) -> bool:
        return len(request.raw) / 4 > 6_000

    refusal = fail(400, code="context_length_exceeded", message="maximum context is 6000 tokens")
    second.when(too_large).always(refusal)
    second.script(*(call("look", place=place) for place in range(40, 70)), text("done"))
    looks = [call("look", place=place) for place in range(1, 40)]
    outcome = await looker.run(*looks, fail(401), request=REQUEST, base_url=None, max_steps=90)
    assert (outcome.stop_reason, outcome.output) == ("answered", "done")
    assert len([request for request in second.requests if too_large(request)]) <= 1
    assert_paired(await looker.messages())


async def test_a_model_with_a_smaller_window_goes_on_with_a_long_thread(
    looker: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(looker)
    looks = [call("look", place=place) for place in range(1, 61)]
    await looker.run(*looks, text("done"), request=REQUEST, max_steps=70)
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "4000")
    outcome = await looker.run(text("And done."), request="Go on.", model="smaller")
    assert outcome.output == "And done."
    assert len(sent_by(looker)[-1].raw) / 4 < 4_000


async def test_a_talk_of_many_requests_stays_inside_a_small_window(
    looker: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "4000")
    answers(looker, rules="never touch main")
    for number in range(60):
        said = f"Question {number}: {'how is the weather there today, and why ' * 6}?"
        rule = " never touch main" if number == 3 else ""
        outcome = await looker.run(text(f"Answer {number}."), request=said + rule)
        assert outcome.stop_reason == "answered"
    sent = sent_by(looker)
    assert max(len(request.raw) for request in sent) / 4 < 4_000
    assert "- never touch main" in str(sent[-1].messages[0]["content"])
    users = [text_of(m) for m in await looker.messages() if isinstance(m, HumanMessage)]
    assert 1 < len(users) < 60
    assert users[-1].startswith("Question 59:")
    outcome = await looker.run(call("recall", query="Question 7"), text("ok"), request="Again?")
    assert "Question 7:" in (await looker.observations())[-1]


async def test_a_long_talk_from_elsewhere_is_looked_through_in_parts(
    looker: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "4000")

    def find_rules(request: Request) -> Message:
        said = str(request.last["content"]).splitlines()
        rules = [line for line in said if line.startswith("Always")]
        return text("\n".join(rules) or "NONE", usage=tokens(10, 10))

    looker.server.when(mentions(SUMMARIZER)).always(text("", usage=tokens(10, 10)))
    looker.server.when(mentions(FINDER)).always(find_rules)
    talk: list[AnyMessage] = []
    for number in range(200):
        rule = f"\nAlways greet guest {number}." if number % 50 == 7 else ""
        asked_for = f"Question {number}: {'how is the weather, and why ' * 8}?{rule}"
        talk += [HumanMessage(asked_for), AIMessage(f"Answer {number}.")]
    outcome = await looker.invoke({"messages": [*talk, HumanMessage("And now?")]}, text("Now."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Now.")
    assert max(len(request.raw) for request in looker.server.requests) / 4 < 4_000
    rules = (await looker.values())["compaction"]["instructions"]
    assert rules == [f"Always greet guest {number}." for number in (7, 57, 107, 157)]


async def test_threads_side_by_side_are_compacted_each_for_itself(looker: ScriptedAgent) -> None:
    answers(looker, "- A wall [#2]")
    seen: dict[str, int] = {}

    def reply(request: Request) -> object:
        name = str(request.messages[1]["content"])[:8]
        seen[name] = seen.get(name, 0) + 1
        if seen[name] <= 8:
            return call("look", place=seen[name])
        return OVERFLOW if seen[name] == 9 else text(name)

    looker.server.always(reply)  # type: ignore[arg-type]
    names = [f"Thread {letter}" for letter in "abcd"]
    outcomes = await asyncio.gather(
        *(looker.run(request=f"{name}: look.", thread=name) for name in names)
    )
    assert [outcome.output for outcome in outcomes] == names
    for name in names:
        notes = [m for m in await looker.messages(name) if is_summary(m)]
        assert [text_of(m).splitlines()[1:] for m in notes] == [["- A wall [#2]"]]
    archives = (looker.workspace / ".manus" / "archive").glob("*.sqlite")
    assert len(list(archives)) == len(names), "each thread has its own"
