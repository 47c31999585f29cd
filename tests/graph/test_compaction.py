"""Long runs stay inside the window, and nothing that was known is lost."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from nodes.compaction import is_summary
from nodes.notes import numbers_in, without_citations
from prompts import compaction as prompts
from state.messages import text_of
from state.profile import Profile
from tests.helpers.agent import ScriptedAgent, assert_paired, thread_config
from tests.server import Message, Request, call, calls, fail, mentions, text, tokens
from tools.archive import Archive
from tools.base import AgentTool, Arguments
from tools.result import Observation

STEPS = 400
EVERY = 8
INSTRUCTIONS = [
    f"Standing rule {letter}: never touch the branch release-{letter}, whatever happens."
    for letter in "abcdefghij"
]
REQUEST = "Look at all places.\n" + "\n".join(INSTRUCTIONS)
SUMMARIZER = prompts.SUMMARIZER[:40]
FINDER = prompts.INSTRUCTION_FINDER[:40]


class PlaceArgs(Arguments):
    place: int = Field(description="The number of the place")


def fact(place: int) -> str:
    return f"The code of locker K{place} is {90_000 + 37 * place}."


class Look(AgentTool):
    """Gives half a kilobyte, and at some places a fact in it."""

    name: str = "look"
    description: str = "Look at a place."
    args_schema: type[BaseModel] = PlaceArgs

    async def observe(self, place: int, **_: Any) -> Observation:
        planted = fact(place) if place % EVERY == 0 else "Nothing of note."
        return Observation(f"Place {place}. " + "A wall, a door, a window. " * 20 + planted)


LOOKER = Profile(
    name="looker",
    description="",
    tools=(Look, "terminate"),
    system_prompt="You work in $workspace.",
    next_step_prompt="Go on.",
)


def notes_of(request: Request) -> Message:
    """What a model might write: the newest facts, and some things that it made up."""
    asked = str(request.last["content"])
    before = [line for line in asked.splitlines() if line.startswith("- The code")]
    found = re.findall(r"\[#(\d+)\] look: [^\[]*?(The code of locker K\d+ is \d+\.)", asked, re.S)
    fresh = [f"- {said} [#{number}]" for number, said in found]
    made_up = [
        "- The treasure lies 77123456 steps to the north. [#1]",
        "- There is a door nobody has seen. [#99999999]",
        "- This line names no message.",
        "Here are the notes:",
    ]
    return text("\n".join([*made_up, *(before + fresh)[-12:]]), usage=tokens(10, 10))


def find(request: Request) -> Message:
    found = [line for line in str(request.last["content"]).splitlines() if "rule" in line]
    return text("\n".join([*found, "Always be kind to animals."]), usage=tokens(10, 10))


@pytest.fixture
def looker(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> ScriptedAgent:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "12000")
    scripted = ScriptedAgent(agent.server, agent.workspace, agent.saver, LOOKER)
    agent.server.when(mentions(SUMMARIZER)).always(notes_of)
    agent.server.when(mentions(FINDER)).always(find)
    return scripted


def is_of_agent(request: Request) -> bool:
    return str(request.messages[0]["content"]).startswith("You work in")


async def archive_of(agent: ScriptedAgent) -> Archive:
    [path] = (agent.workspace / ".manus" / "archive").glob("*.sqlite")
    return Archive(path)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_what_was_known_is_kept_over_four_hundred_steps(
    looker: ScriptedAgent, tmp_path: Path
) -> None:
    step = iter(range(1, STEPS + 1))

    def next_look(request: Request) -> Message:
        place = next(step, None)
        return text("All seen.") if place is None else calls(call("look", place=place))

    looker.server.always(next_look)
    outcome = await looker.run(request=REQUEST, max_steps=STEPS + 10)
    assert outcome.stop_reason == "answered"
    assert outcome.results[0].startswith("Step 1: look → Place 1.")
    assert [line.split(":")[0] for line in outcome.results] == [
        f"Step {number}" for number in range(1, STEPS + 2)
    ]
    values = await looker.values()
    compaction, history = values["compaction"], values["messages"]
    assert compaction["count"] >= 6
    assert_paired(history)
    [notes] = [text_of(m) for m in history if is_summary(m)]
    archive = await archive_of(looker)

    sent = [request for request in looker.server.requests if is_of_agent(request)]
    assert compaction["instructions"] == INSTRUCTIONS
    assert all(rule in sent[-1].messages[0]["content"] for rule in INSTRUCTIONS)
    assert all(REQUEST in request.text for request in sent)
    assert max(len(request.raw) for request in sent) / 4 < 12_000

    known = {place: fact(place).split()[-1] for place in range(EVERY, STEPS + 1, EVERY)}
    in_notes = {p for p, code in known.items() if code in notes}
    still_there = {p for p, code in known.items() if any(code in text_of(m) for m in history)}
    recalled = {
        place
        for place, code in known.items()
        if any(code in found.text for found in archive.search(f"code of locker K{place}"))
    }
    assert in_notes
    assert len(known) == 50
    assert still_there | recalled == set(known)

    source = "\n".join(
        found.text for n in range(1, compaction["evicted"] + 1) for found in archive.numbered(n)
    )
    said = "\n".join(map(without_citations, notes.splitlines()[1:]))
    assert numbers_in(said) - numbers_in(prompts.older_left_out(0)) <= numbers_in(source)
    assert "treasure" not in notes
    assert "names no message" not in notes
    cited = {int(n) for n in re.findall(r"\[#(\d+)", notes)}
    assert cited
    assert all(archive.numbered(n) for n in cited)
    assert outcome.usage["roles"]["summary"]["model_calls"] >= 7
    archive.close()
    await _assert_linear(looker)


async def _assert_linear(agent: ScriptedAgent) -> None:
    """Storage grows with the number of steps, compactions or not: counted in bytes, not seconds."""
    written = (
        "SELECT id, sum(bytes) FROM ("
        " SELECT checkpoint_id AS id, length(checkpoint) + length(metadata) AS bytes"
        " FROM checkpoints UNION ALL"
        " SELECT checkpoint_id AS id, length(value) AS bytes FROM writes"
        ") GROUP BY id ORDER BY id"
    )
    async with agent.saver.conn.execute(written) as cursor:  # type: ignore[attr-defined]
        sizes = [int(row[1]) for row in await cursor.fetchall()]
    half = len(sizes) // 2
    assert half > STEPS
    assert sum(sizes[half:]) <= 1.5 * sum(sizes[:half])


async def test_requests_begin_alike_between_two_compactions(looker: ScriptedAgent) -> None:
    step = iter(range(1, 51))

    def next_look(request: Request) -> Message:
        place = next(step, None)
        return text("All seen.") if place is None else calls(call("look", place=place))

    looker.server.always(next_look)
    await looker.run(request=REQUEST, max_steps=60)
    sent = [request for request in looker.server.requests if is_of_agent(request)]
    breaks = 0
    for before, after in itertools.pairwise(sent):
        stable = before.raw[: before.raw.rindex(b',{"content":"Go on."')]
        if not after.raw.startswith(stable):
            breaks += 1
            assert b"Notes on the messages" in after.raw
    compaction = (await looker.values())["compaction"]
    assert breaks == compaction["count"] >= 1


async def test_a_request_that_is_too_large_is_made_shorter_and_sent_once_more(
    looker: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "1000000")
    looks = [calls(call("look", place=place)) for place in range(1, 9)]
    outcome = await looker.run(
        *looks, fail(400, code="context_length_exceeded"), text("done"), request=REQUEST
    )
    assert outcome.stop_reason == "answered"
    assert outcome.results[7].startswith("Step 8: look → Place 8.")
    last = [request for request in looker.server.requests if is_of_agent(request)][-1]
    assert "Notes on the messages #1 to #14" in last.text
    assert "recall" in last.tool_names
    assert last.text.count("A wall, a door, a window. " * 20) == 1
    assert fact(8) in last.text


async def test_a_compaction_is_told_as_it_happens(looker: ScriptedAgent) -> None:
    looks = [calls(call("look", place=place)) for place in range(1, 9)]
    overflow = fail(400, code="context_length_exceeded")
    events = await looker.events(*looks, overflow, text("done"), request=REQUEST)
    [told] = [event for event in events if event["type"] == "compaction"]
    assert (told["evicted"], told["before"] > told["size"] > 0) == (14, True)


async def test_a_request_that_stays_too_large_ends_the_run(
    looker: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_large = fail(400, code="context_length_exceeded")
    looks = [calls(call("look", place=place)) for place in range(1, 4)]
    outcome = await looker.run(*looks, too_large, too_large, request=REQUEST)
    assert outcome.stop_reason == "error"
    assert len(outcome.results) == 3
    assert "larger than the context window" in outcome.output
    again = await looker.run(text("hello"), request="And now?")
    assert again.stop_reason == "answered"
    assert_paired(await looker.messages())


async def test_without_a_summarizer_the_notes_are_made_from_the_steps(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    looker = ScriptedAgent(agent.server, agent.workspace, agent.saver, LOOKER)
    agent.server.when(mentions(SUMMARIZER)).always(fail(401))
    agent.server.when(mentions(FINDER)).always(fail(401))
    looks = [calls(call("look", place=place)) for place in range(1, 9)]
    recall = calls(call("recall", query="#2"), call("recall", query="locker K8 code"))
    await looker.run(*looks, fail(400, code="context_length_exceeded"), recall, text("done"))
    history = await looker.messages()
    [notes] = [m for m in history if is_summary(m)]
    assert "- look → Place 1." in text_of(notes)
    observations = await looker.observations()
    assert observations[-2].startswith("[#2] look:\nPlace 1.")
    assert isinstance(history[0], HumanMessage)
    assert isinstance(notes, SystemMessage)


async def test_another_run_on_the_thread_goes_on_with_the_notes(looker: ScriptedAgent) -> None:
    looks = [calls(call("look", place=place)) for place in range(1, 9)]
    first = await looker.run(
        *looks, fail(400, code="context_length_exceeded"), text("done"), request=REQUEST
    )
    second = await looker.run(call("recall", query="locker K8"), text("ok"), request="Go on.")
    assert (first.stop_reason, second.stop_reason) == ("answered", "answered")
    assert [line.split(":")[0] for line in second.results] == ["Step 1", "Step 2"]
    assert "- The code" not in second.output
    history = await looker.messages()
    assert [m.content for m in history if isinstance(m, HumanMessage)] == [REQUEST, "Go on."]
    assert sum(map(is_summary, history)) == 1
    assert isinstance(history[-1], AIMessage)


async def test_a_thread_forked_under_a_new_id_recalls_what_was_before(
    looker: ScriptedAgent,
) -> None:
    looks = [calls(call("look", place=place)) for place in range(1, 9)]
    overflow = fail(400, code="context_length_exceeded")
    await looker.run(*looks, overflow, text("done"), request=REQUEST)
    fork = thread_config("fork")
    await looker.graph.aupdate_state(fork, await looker.values(), as_node="stuck_check")
    await looker.run(text("ok"), request="Look around.", thread="fork")
    for path in (looker.workspace / ".manus" / "archive").glob("t_-*"):
        path.unlink()
    again = call("recall", query="#2"), call("recall", query="window wall", limit=9)
    outcome = await looker.run(calls(*again), text("ok"), request="Go on.", thread="fork")
    assert outcome.stop_reason == "answered"
    observations = await looker.observations("fork")
    assert observations[-2].startswith("[#2] look:\nPlace 1.")
    assert "Place 5. A wall" in observations[-1]
