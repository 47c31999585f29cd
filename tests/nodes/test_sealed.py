"""What is signed or encrypted goes back to the server that gave it, as it came."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from manus.models.reasoning import (
    CALLS,
    REASONING,
    THOUGHT_BY,
    SealedReader,
)
from manus.models.wire_forms import Back, wire_forms
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.server import Scripted, ScriptedServer, fail, raw, text

Json = dict[str, Any]
TEXT = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
THOUGHT = {**TEXT, "text": "First I look.", "signature": "ErUB+/="}
SECRET = {
    "type": "reasoning.encrypted",
    "data": "gAAAAB==",
    "id": "rs_1",
    "format": "openai-responses-v1",
    "index": 0,
}
DETAILS = [THOUGHT, {**SECRET, "index": 1}]


def signed(signature: str) -> Json:
    return {"extra_content": {"google": {"thought_signature": signature}}}


def made(place: int, **more: Any) -> Json:
    """A call in a reply; `index` is what a stream has in it."""
    arguments = json.dumps({"path": "a", "line": str(place)})
    return {
        "id": f"c{place}",
        "type": "function",
        "function": {"name": "append", "arguments": arguments},
        **more,
    }


def reply(streamed: bool, *deltas: Json) -> Scripted:
    """A reply of one message, whole or in these pieces."""
    if not streamed:
        [message] = deltas
        said = {"role": "assistant", "content": None, **message}
        choice = {"index": 0, "message": said, "finish_reason": "tool_calls"}
        body = {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}
        return raw(json.dumps(body).encode(), content_type="application/json")
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choices: list[Json] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    events = [f"data: {json.dumps({**head, 'choices': [choice]})}\n\n" for choice in choices]
    return raw("".join([*events, "data: [DONE]\n\n"]).encode(), content_type="text/event-stream")


@pytest.fixture
def lax(agent: ScriptedAgent) -> ScriptedAgent:
    """An agent whose server takes fields that OpenAI's does not know."""
    agent.server.strict = False
    return agent


def assistants(server: ScriptedServer) -> list[Json]:
    """Those of the last request."""
    return [m for m in server.requests[-1].messages if m["role"] == "assistant"]


def together(*pieces: Json) -> Any:
    """What becomes of pieces of `reasoning_details`, each in a chunk of its own."""
    found = SealedReader()
    for piece in pieces:
        found.feed({"reasoning_details": [piece]})
    return found.kept().get("reasoning_details")


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (
            [
                {**TEXT, "text": "First"},
                {**TEXT, "text": " I look."},
                {**TEXT, "signature": "ErUB+/="},
            ],
            [THOUGHT],
        ),
        (
            [
                {**TEXT, "text": "First", "signature": None},
                {**TEXT, "text": " I look.", "signature": ""},
                {**TEXT, "text": "", "signature": "ErUB+/="},
            ],
            [THOUGHT],
        ),
        (
            [{**TEXT, "text": "a", "index": 0}, {**TEXT, "text": "b", "index": 1}] * 2,
            [{**TEXT, "text": "aa", "index": 0}, {**TEXT, "text": "bb", "index": 1}],
        ),
        ([THOUGHT, {**TEXT, "text": "Then"}, {**TEXT, "signature": "x"}], "two"),
        ([{**TEXT, "text": "a"}, SECRET, {**TEXT, "text": "b"}], "as they are"),
        ([SECRET, {**SECRET, "id": "rs_2", "data": "hBBB"}], "as they are"),
        ([{**TEXT, "signature": "one"}, {**TEXT, "signature": "two"}], "as they are"),
        (
            [{"type": "reasoning.summary", "summary": word} for word in ("I ", "look.")],
            [{"type": "reasoning.summary", "summary": "I look."}],
        ),
    ],
    ids=[
        "a late signature",
        "null signatures before",
        "by the index",
        "a second block after the signature",
        "a second block after another kind",
        "two secrets of one index",
        "two thoughts that are not shown",
        "without an index",
    ],
)
def test_pieces_become_entries(pieces: list[Json], whole: Any) -> None:
    expected = {"as they are": pieces, "two": [THOUGHT, {**TEXT, "text": "Then", "signature": "x"}]}
    assert together(*pieces) == (expected[whole] if isinstance(whole, str) else whole)


async def test_details_go_back_as_they_came(lax: ScriptedAgent) -> None:
    whole = {"reasoning_details": DETAILS, "reasoning": "First I look.", "tool_calls": [made(0)]}
    pieces: list[Json] = [
        {"reasoning": "First", "reasoning_details": [{**TEXT, "text": "First"}]},
        {"reasoning": " I look.", "reasoning_details": [{**TEXT, "text": " I look."}]},
        {"reasoning_details": [{**TEXT, "signature": "ErUB+/="}]},
        {"reasoning_details": [DETAILS[1]], "tool_calls": [made(0, index=0)]},
    ]
    for thread, first in (("whole", reply(False, whole)), ("streamed", reply(True, *pieces))):
        await lax.run(first, text("done"), thread=thread)
        [sent] = assistants(lax.server)
        assert sent["reasoning_details"] == DETAILS
        assert set(sent) == {"role", "content", "tool_calls", "reasoning_details"}
        kept = (await lax.messages(thread))[1]
        assert kept.additional_kwargs[REASONING] == "First I look."


async def test_a_signature_goes_back_on_its_call(lax: ScriptedAgent) -> None:
    """Of calls side by side the first alone has one; Google's streams give all of them index 0."""
    both = [made(0, **signed("AbC+/=")), made(1)]
    streamed = reply(True, *({"tool_calls": [{**one, "index": 0}]} for one in both))
    for thread, first in (("whole", reply(False, {"tool_calls": both})), ("streamed", streamed)):
        await lax.run(first, text("done"), thread=thread)
        one, two = assistants(lax.server)[0]["tool_calls"]
        assert one["extra_content"] == signed("AbC+/=")["extra_content"]
        assert "extra_content" not in two
        assert [one["id"], two["id"]] == ["c0", "c1"]


async def test_googles_thoughts_in_the_text_are_no_answer(lax: ScriptedAgent) -> None:
    """Its endpoint writes them there with tags; a flag says so of a piece, not of the reply."""
    flag = {"extra_content": {"google": {"thought": True}}}
    parts: list[Json] = [
        {"content": "<thought>First I look.", **flag},
        {"content": "</thought>Hello.", **signed("of the text")},
    ]
    assert (await lax.run(reply(True, *parts))).output == "Hello."
    kept = (await lax.messages())[1].additional_kwargs
    assert kept[REASONING] == "First I look."
    await lax.run(text("done"))
    [sent] = assistants(lax.server)
    assert sent["content"] == "Hello."
    assert sent["extra_content"] == signed("of the text")["extra_content"]


async def test_never_if_it_is_not_to_be_sent(
    lax: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_SEND_REASONING", "false")
    one = made(0, index=0, **signed("AbC"))
    await lax.run(reply(True, {"reasoning_details": DETAILS, "tool_calls": [one]}), text("done"))
    [sent] = assistants(lax.server)
    assert set(sent) == {"role", "content", "tool_calls"}
    kept = (await lax.messages())[1].additional_kwargs
    assert kept[REASONING] == "First I look.", "it is still shown"
    assert "reasoning_details" not in kept


@pytest.fixture
def second(
    lax: ScriptedAgent,
    new_server: Callable[[], ScriptedServer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> ScriptedServer:
    """Another server, configured as the fallback of the agent's."""
    other = new_server()
    monkeypatch.setenv("MANUS_BASE_URL", lax.server.base_url)
    named = f'fallback = [{{model = "other", base_url = "{other.base_url}"}}]'
    (tmp_path / "manus.toml").write_text(f"send_reasoning = true\n{named}\n")
    return other


async def test_no_other_server_gets_it(lax: ScriptedAgent, second: ScriptedServer) -> None:
    """Neither what is sealed nor what can be read; the first one has it again afterwards."""
    second.strict = False
    one = made(0, index=0, **signed("AbC"))
    first = reply(True, {"reasoning_details": DETAILS, "tool_calls": [one]})
    theirs = [{**one, "id": "d0", **signed("of the other")}]
    second.script(reply(True, {**one, "reasoning_details": [SECRET], "tool_calls": theirs}))
    await lax.run(first, fail(403, message="flagged"), text("done"), base_url=None)
    [given] = assistants(second)
    assert given[REASONING] == ""
    assert "reasoning_details" not in given
    assert "extra_content" not in given["tool_calls"][0]
    mine, others = assistants(lax.server)
    assert (mine["reasoning_details"], mine[REASONING]) == (DETAILS, "First I look.")
    assert mine["tool_calls"][0]["extra_content"] == signed("AbC")["extra_content"]
    assert "reasoning_details" not in others
    assert "extra_content" not in others["tool_calls"][0]
    assert "of the other" not in json.dumps(others)


@pytest.mark.parametrize("count", [0, 2])
def test_calls_that_are_no_longer_those_that_were_made_are_unsigned(count: int) -> None:
    calls: Any = [{"name": "a", "args": {}, "id": f"c{n}"} for n in range(count)]
    kept = {CALLS: [signed("AbC")], THOUGHT_BY: "me"}
    changed = AIMessage("Edited.", tool_calls=calls, additional_kwargs=kept)
    form = wire_forms(Back("me")).of(changed).form
    assert "AbC" not in json.dumps(form)


async def test_an_entry_stays_with_its_call_when_that_gets_another_id(lax: ScriptedAgent) -> None:
    """OpenRouter finds the signature of a call of Gemini's by the call's id."""
    of_call = {"type": "reasoning.encrypted", "data": "x", "id": "c0", "index": 0}
    one = reply(False, {"reasoning_details": [of_call], "tool_calls": [made(0)]})
    await lax.run(one, one, text("done"))
    assert_paired(await lax.messages())
    sent = assistants(lax.server)
    ids = [message["tool_calls"][0]["id"] for message in sent]
    assert ids[0] != ids[1]
    assert [message["reasoning_details"][0]["id"] for message in sent] == ids
