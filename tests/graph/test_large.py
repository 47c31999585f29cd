"""A text larger than the model's window is no end of the run: it is shown in part, kept whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from manus.nodes.context.limits import limits_of
from manus.prompts import compaction as prompts
from manus.state.messages import text_of
from tests.helpers.agent import ScriptedAgent
from tests.helpers.tools import RED_DOT
from tests.server import Request, call, calls, fail, mentions, text, tokens

WINDOW = 12_000


def pasted(lines: int) -> str:
    """A text of some 55 bytes a line."""
    text = "".join(f"{n}: 天地玄黄，宇宙洪荒。 The quick brown fox.\n" for n in range(lines))
    return f"Sum this up, and answer in French.\n{text}\nThis was all of it."


PASTED = pasted(45_000)
LONG = pasted(8_000)


@pytest.fixture
def small(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> ScriptedAgent:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", str(WINDOW))
    agent.server.when(mentions(prompts.SUMMARIZER[:40])).always(text("NONE", usage=tokens(10, 10)))
    agent.server.when(mentions(prompts.INSTRUCTION_FINDER[:40])).always(
        text("answer in French", usage=tokens(10, 10))
    )
    return agent


def kept(shown: str, workspace: Path) -> str:
    note = re.search(r"\[… [\d,]+ of ([\d,]+) characters left out; all \1 are in (\S+) …\]", shown)
    assert note is not None
    return (workspace / note[2]).read_bytes().decode()


def said(request: Request) -> str:
    return str(next(m["content"] for m in request.messages if m["role"] == "user"))


async def test_a_text_of_two_megabytes_is_shown_in_part_and_kept_whole(
    small: ScriptedAgent,
) -> None:
    assert len(PASTED.encode()) > 2_000_000
    outcome = await small.run(
        call("read", path="none"), call("read", path="none 2"), text("Fini."), request=PASTED
    )
    assert (outcome.stop_reason, outcome.output) == ("answered", "Fini.")
    sent = small.server.requests
    shown = said(sent[0])
    assert shown.startswith("Sum this up, and answer in French.\n0: 天地玄黄")
    assert shown.endswith("\nThis was all of it.")
    assert kept(shown, small.workspace) == PASTED
    assert max(len(request.raw) for request in sent) < 4 * WINDOW
    assert {said(request) for request in sent} == {shown}
    [stored] = [m for m in await small.messages() if isinstance(m, HumanMessage)]
    assert text_of(stored) == PASTED


async def test_another_run_sees_it_the_same_way_and_many_share_the_room(
    small: ScriptedAgent,
) -> None:
    for _ in range(3):
        outcome = await small.run(text("Fini."), request=LONG)
        assert outcome.stop_reason == "answered"
    sent = small.server.requests
    users = [m["content"] for m in sent[-1].messages if m["role"] == "user"][:-1]
    assert len(users) == 3
    assert all(kept(shown, small.workspace) == LONG for shown in users)
    assert len(sent[-1].raw) < 4 * WINDOW
    messages = [m for m in await small.messages() if isinstance(m, HumanMessage)]
    assert [text_of(m) for m in messages] == [LONG] * 3


async def test_blocks_of_text_are_shortened_beside_an_image(small: ScriptedAgent) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{RED_DOT}"}}
    blocks: list[str | dict[str, Any]] = [
        {"type": "text", "text": LONG},
        image,
        {"type": "text", "text": "And this?"},
    ]
    given = {"messages": [HumanMessage(blocks)]}
    outcome = await small.invoke(given, text("Fini."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Fini.")
    first, shown_image, last = small.server.requests[0].messages[1]["content"]
    assert kept(first["text"], small.workspace) == LONG
    assert shown_image["image_url"]["url"].endswith(RED_DOT)
    assert last["text"] == "And this?"


async def test_an_observation_larger_than_a_small_window_is_shortened_again(
    small: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "4000")
    (small.workspace / "long").write_text("天地玄黄，宇宙洪荒。\n" * 1_000)
    outcome = await small.run(call("read", path="long"), text("ok"), max_observe=10_000)
    assert outcome.stop_reason == "answered"
    [seen] = [m["content"] for m in small.server.requests[-1].messages if m["role"] == "tool"]
    assert len(seen) < 2_000
    [stored] = await small.observations()
    assert kept(seen, small.workspace) == stored


@pytest.mark.parametrize("named", [True, False])
async def test_a_window_that_was_not_known_is_learned_from_the_refusal(
    agent: ScriptedAgent, named: bool
) -> None:
    message = "This model's maximum context length is 8192 tokens." if named else "too long"
    refused = fail(400, code="context_length_exceeded", message=message)
    outcome = await agent.run(refused, text("Fini."), request=LONG)
    assert outcome.stop_reason == "answered"
    first, second = agent.server.requests
    assert len(second.raw) < len(first.raw) * 0.6
    assert kept(said(second), agent.workspace) == LONG


async def test_what_does_not_fit_after_all_is_one_sentence(small: ScriptedAgent) -> None:
    refused = fail(400, code="context_length_exceeded", message="maximum context is 2000 tokens")
    outcome = await small.run(refused, refused, request=LONG)
    assert outcome.stop_reason == "error"
    assert len(outcome.output.splitlines()) == 1
    assert re.search(
        r"larger than the context window of `scripted`: maximum context is 2000 tokens\. What is "
        r"left of it cannot be made shorter: the system prompt \(about [\d,]+ tokens\), the tools "
        r"\(about [\d,]+ tokens\), the user's messages \(about [\d,]+ tokens\) and the last turns "
        r"\(about [\d,]+ tokens\), of about [\d,]+ in a window of 2,000; ask for less at once, put "
        r"long texts into files, or use a model with a larger window \(`context_window`\)\.$",
        outcome.output,
    )
    again = await small.run(text("Fini."), request="And now?")
    assert again.stop_reason == "answered"


async def test_standing_instructions_in_a_large_text_are_kept(small: ScriptedAgent) -> None:
    for number in range(14):
        (small.workspace / f"{number}").write_text(f"{number}: a wall, a door, a window\n" * 60)
    reads = [calls(call("read", path=f"{number}")) for number in range(14)]
    outcome = await small.run(*reads, text("Fini."), request=LONG, max_steps=30)
    compaction = (await small.values())["compaction"]
    assert outcome.stop_reason == "answered"
    assert compaction["instructions"] == ["answer in French"]
    finders = [r for r in small.server.requests if prompts.INSTRUCTION_FINDER[:40] in r.text]
    assert max(len(request.raw) for request in finders) < 4 * WINDOW


def test_the_limit_is_the_same_until_the_user_says_too_much() -> None:
    short = [HumanMessage("word " * 900) for _ in range(5)]
    limits = [limits_of(short[:n], 10_000).user for n in range(6)]
    assert limits == [5_000] * 6
    many = [HumanMessage("word " * 4_000) for _ in range(50)]
    falling = [limits_of(many[:n], 10_000).user for n in range(1, 51)]
    assert falling == sorted(falling, reverse=True)
    assert len(set(falling)) < 15, "it stays the same for most messages"
    assert falling[-1] == 250


def test_a_message_that_has_the_place_of_one_that_has_gone_is_measured_anew() -> None:
    asked = [AIMessage("", tool_calls=[{"name": "read", "args": {}, "id": "1"}]) for _ in range(50)]
    results = [ToolMessage("Nothing.", tool_call_id="1") for _ in asked]
    places = {id(result): first for first, result in zip(asked, results, strict=True)}
    assert not any(limits_of([*turn], 10_000).parts for turn in zip(asked, results, strict=True))
    results.clear()
    others = [ToolMessage("word " * 10_000, tool_call_id="1") for _ in range(200)]
    there = next(message for message in others if id(message) in places)
    assert set(limits_of([places[id(there)], there], 10_000).parts) == {id(there)}
