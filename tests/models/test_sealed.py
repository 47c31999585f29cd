"""Signed or encrypted content goes back unchanged to the server that sent it."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from manus.models.reasoning import REASONING, SealedReader, move_sealed
from tests.helpers.agent import ScriptedAgent
from tests.server import (
    Scripted,
    ScriptedServer,
    build_chunk,
    fail,
    reply_message,
    reply_stream,
    text,
)

Json = dict[str, Any]
TEXT = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
THOUGHT = {**TEXT, "text": "First I look.", "signature": "ErUB+/="}
SECRET = {"type": "reasoning.encrypted", "data": "gAAAAB==", "id": "rs_1", "index": 0}
DETAILS = [THOUGHT, {**SECRET, "index": 1}]


def signed(signature: str) -> Json:
    return {"extra_content": {"google": {"thought_signature": signature}}}


def build_call(place: int, **fields: Any) -> Json:
    """Return a call in a reply; `index` is its position in a stream."""
    function = {"name": "append", "arguments": json.dumps({"path": "a", "line": str(place)})}
    return {"id": f"c{place}", "type": "function", "function": function, **fields}


def streamed(*deltas: Json) -> Scripted:
    """Return a reply in these chunks."""
    return reply_stream(*map(build_chunk, deltas), build_chunk({}, "stop"))


@pytest.fixture
def lax(agent: ScriptedAgent) -> ScriptedAgent:
    """Provide an agent whose server accepts fields that OpenAI's does not know."""
    agent.server.strict = False
    return agent


def assistants(server: ScriptedServer) -> list[Json]:
    """Return the assistant messages of the last request."""
    return [m for m in server.requests[-1].messages if m["role"] == "assistant"]


PIECES: dict[str, tuple[list[Json], list[Json]]] = {
    "null signatures before": (
        [
            {**TEXT, "text": "First", "signature": None},
            {**TEXT, "text": " I look.", "signature": ""},
            {**TEXT, "text": "", "signature": "ErUB+/="},
        ],
        [THOUGHT],
    ),
    "by the index": (
        [{**TEXT, "text": "a", "index": 0}, {**TEXT, "text": "b", "index": 1}] * 2,
        [{**TEXT, "text": "aa", "index": 0}, {**TEXT, "text": "bb", "index": 1}],
    ),
    "a second block after the signature": (
        [THOUGHT, {**TEXT, "text": "Then"}, {**TEXT, "signature": "x"}],
        [THOUGHT, {**TEXT, "text": "Then", "signature": "x"}],
    ),
    "two secrets of one index": ([SECRET, SECRET], [SECRET, SECRET]),
}


def test_pieces_become_entries(subtests: pytest.Subtests) -> None:
    for name, (pieces, entries) in PIECES.items():
        with subtests.test(name=name, pieces=pieces):
            reader = SealedReader()
            for piece in pieces:
                reader.feed({"reasoning_details": [piece]})
            assert reader.fields()["reasoning_details"] == entries, name


async def test_details_go_back_unchanged(lax: ScriptedAgent, subtests: pytest.Subtests) -> None:
    reasoning = {"reasoning_details": DETAILS, "reasoning": "First I look."}
    at_once = reply_message("tool_calls", **reasoning, tool_calls=[build_call(0)])
    pieces: list[Json] = [
        {"reasoning": "First", "reasoning_details": [{**TEXT, "text": "First"}]},
        {"reasoning": " I look.", "reasoning_details": [{**TEXT, "text": " I look."}]},
        {"reasoning_details": [{**TEXT, "signature": "ErUB+/="}]},
        {"reasoning_details": [DETAILS[1]], "tool_calls": [build_call(0, index=0)]},
    ]
    for thread, first in (("whole", at_once), ("streamed", streamed(*pieces))):
        with subtests.test(thread=thread, first=first):
            await lax.run(first, text("done"), thread=thread)
            [message] = assistants(lax.server)
            assert message["reasoning_details"] == DETAILS
            assert set(message) == {"role", "content", "tool_calls", "reasoning_details"}
            stored_message = (await lax.messages(thread))[1]
            assert stored_message.additional_kwargs[REASONING] == "First I look."


async def test_a_signature_goes_back_on_its_call(
    lax: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    """Of parallel calls only the first has one; Google's streams give all of them index 0."""
    both = [build_call(0, **signed("AbC+/=")), build_call(1)]
    in_pieces = streamed(*({"tool_calls": [{**call, "index": 0}]} for call in both))
    at_once = reply_message("tool_calls", tool_calls=both)
    for thread, first in (("whole", at_once), ("streamed", in_pieces)):
        with subtests.test(thread=thread, first=first):
            await lax.run(first, text("done"), thread=thread)
            first_call, second_call = assistants(lax.server)[0]["tool_calls"]
            assert first_call["extra_content"] == signed("AbC+/=")["extra_content"]
            assert "extra_content" not in second_call
            assert [first_call["id"], second_call["id"]] == ["c0", "c1"]


async def test_googles_thoughts_in_the_text_are_not_an_answer(lax: ScriptedAgent) -> None:
    """Its endpoint marks them with tags; a flag is set on the chunk, not on the reply."""
    flag = {"extra_content": {"google": {"thought": True}}}
    parts: list[Json] = [
        {"content": "<thought>First I look.", **flag},
        {"content": "</thought>Hello.", **signed("of the text")},
    ]
    assert (await lax.run(streamed(*parts))).output == "Hello."
    extra = (await lax.messages())[1].additional_kwargs
    assert extra[REASONING] == "First I look."
    await lax.run(text("done"))
    [message] = assistants(lax.server)
    assert message["content"] == "Hello."
    assert message["extra_content"] == signed("of the text")["extra_content"]


@pytest.mark.environ(MANUS_SEND_REASONING="false")
async def test_never_if_sending_is_disabled(lax: ScriptedAgent) -> None:
    call = build_call(0, index=0, **signed("AbC"))
    await lax.run(streamed({"reasoning_details": DETAILS, "tool_calls": [call]}), text("done"))
    [message] = assistants(lax.server)
    assert set(message) == {"role", "content", "tool_calls"}
    extra = (await lax.messages())[1].additional_kwargs
    assert extra[REASONING] == "First I look.", "it is still shown"
    assert "reasoning_details" not in extra


@pytest.mark.usefixtures("configured")
@pytest.mark.environ(MANUS_SEND_REASONING="true")
async def test_no_other_server_gets_it(lax: ScriptedAgent, second: ScriptedServer) -> None:
    """Neither sealed nor readable content; the first server gets it again afterwards."""
    second.strict = False
    call = build_call(0, index=0, **signed("AbC"))
    first = streamed({"reasoning_details": DETAILS, "tool_calls": [call]})
    theirs = [{**call, "id": "d0", **signed("of the other")}]
    second.script(streamed({**call, "reasoning_details": [SECRET], "tool_calls": theirs}))
    await lax.run(first, fail(403, message="flagged"), text("done"), base_url=None)
    [message] = assistants(second)
    assert message[REASONING] == ""
    assert "reasoning_details" not in message
    assert "extra_content" not in message["tool_calls"][0]
    mine, rest = assistants(lax.server)
    assert (mine["reasoning_details"], mine[REASONING]) == (DETAILS, "First I look.")
    assert mine["tool_calls"][0]["extra_content"] == signed("AbC")["extra_content"]
    assert "reasoning_details" not in rest
    assert "extra_content" not in rest["tool_calls"][0]
    assert "of the other" not in json.dumps(rest)


def test_data_of_a_call_follows_it_to_another_id() -> None:
    googles = "__gemini_function_call_thought_signatures__"
    extra = {googles: {"c0": "x"}, "reasoning_details": [{"id": "c0"}, {"id": "c1"}]}
    message = AIMessage("", additional_kwargs=extra)
    move_sealed(message, "c0", "new")
    assert message.additional_kwargs[googles] == {"new": "x"}
    assert message.additional_kwargs["reasoning_details"] == [{"id": "new"}, {"id": "c1"}]
