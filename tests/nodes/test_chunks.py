"""Replies as compatible servers send them, which are not all as the protocol has them.

Each is what a server was seen to send (Ollama, vLLM, LM Studio, DeepSeek, Mistral, OpenRouter).
"""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk

from manus.models.normalize import ReplyReader
from manus.models.reasoning import REASONING, ThoughtReader, thought_apart
from manus.state.messages import calls_of
from tests.helpers.agent import ScriptedAgent
from tests.server import Scripted, raw, said, stream_of, text

ONE = {"path": "a", "line": "1"}
TWO = {"path": "b", "line": "2"}
ARGS, OTHER = json.dumps(ONE), json.dumps(TWO)
Chunk = dict[str, Any]


def piece(name: str | None = None, arguments: Any = None, **more: Any) -> Chunk:
    """A piece of a call."""
    given = {"name": name, "arguments": arguments}
    function = {key: value for key, value in given.items() if value is not None}
    return said({"tool_calls": [{"type": "function", "function": function, **more}]})


def whole(reason: str = "stop", **message: Any) -> Chunk:
    """A reply in one piece."""
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def called(**made: Any) -> Chunk:
    """A call in one piece."""
    return whole("tool_calls", content=None, tool_calls=[{"id": "x", "type": "function", **made}])


STOP, CALLED = said({}, "stop"), said({}, "tool_calls")


def read(*chunks: Chunk) -> tuple[AIMessage, list[AIMessageChunk]]:
    """The reply of these chunks, and what is shown of it meanwhile."""
    reader = ReplyReader()
    shown = [part for chunk in chunks if (part := reader.feed(chunk)) is not None]
    shown.append(reader.end())
    return reader.message(), shown


TWO_CALLS: dict[str, list[Chunk]] = {
    "no index": [piece("append", ARGS, id="x"), piece("append", OTHER, id="y")],
    "one index, in pieces": [
        piece("append", "", id="x", index=0),
        piece(None, ARGS[:9], index=0),
        piece(None, ARGS[9:], index=0),
        piece("append", "", id="y", index=0),
        piece(None, OTHER, index=0),
    ],
    "one id": [piece("append", ARGS, id="x", index=0), piece("append", OTHER, id="x", index=1)],
    "all in one piece": [
        said(
            {
                "tool_calls": [
                    {"id": "x", "function": {"name": "append", "arguments": ARGS}},
                    {"id": "y", "function": {"name": "append", "arguments": OTHER}},
                ]
            }
        )
    ],
}


def test_two_calls_stay_two() -> None:
    for chunks in TWO_CALLS.values():
        message, shown = read(*chunks, CALLED)
        assert [c["args"] for c in message.tool_calls] == [ONE, TWO]
        pieces = [call for chunk in shown for call in chunk.tool_call_chunks]
        assert {call["index"] for call in pieces} == {0, 1}
        assert [call["name"] for call in pieces if call["name"]] == ["append", "append"]


BEGUN = piece("append", ARGS[:9], id="x", index=0)
ONE_CALL: dict[str, list[Chunk]] = {
    "name and id again": [BEGUN, piece("append", ARGS[9:], id="x", index=0)],
    "another id for each piece": [BEGUN, piece(None, ARGS[9:], id="y", index=0)],
    "pieces without an index": [piece("append", ARGS[:9], id="x"), piece(None, ARGS[9:])],
    "an object": [piece("append", ONE, id="x", index=0)],
    "no function at first": [piece(id="x", index=0, function=None), piece("append", ARGS, index=0)],
    "whole, a number for an id": [called(id=7, function={"name": "append", "arguments": ARGS})],
}


def test_one_call_stays_one() -> None:
    for chunks in ONE_CALL.values():
        message, _ = read(*chunks, CALLED)
        [call] = calls_of(message)
        assert (call["name"], call["args"]) == ("append", ONE)
    for given in ({"arguments": None}, {}, {"arguments": " "}):
        message, _ = read(called(function={"name": "poll", **given}))
        assert [c["args"] for c in message.tool_calls] == [{}]


async def test_half_a_call_is_no_call_though_its_end_has_another_id(agent: ScriptedAgent) -> None:
    """LangChain would make a whole call of each half."""
    half = piece(None, ARGS[9:14], id="y", index=0)
    await agent.watched(stream_of(BEGUN, half, said({}, "length")), text("done"))
    assert agent.lines("a") == []
    assert "length limit" in (await agent.observations())[0]


HELLO: dict[str, list[Chunk]] = {
    "content null": [said({"content": None}), said({"content": "Hello."}), STOP],
    "no delta at the end": [said({"content": "Hello."}), said(None, "stop")],
    "blocks": [said({"content": [{"type": "text", "text": "Hello."}]}), STOP],
    "calls without calls": [said({"content": "Hello.", "tool_calls": []}), CALLED],
    "a filter's verdict first": [
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        said({"content": "Hello."}),
        STOP,
    ],
    "whole, no call": [whole(content="Hello.", tool_calls=[{"id": "x", "function": None}])],
}


def test_the_text_arrives() -> None:
    for chunks in HELLO.values():
        message, shown = read(*chunks)
        assert message.text == "".join(chunk.text for chunk in shown) == "Hello."
        assert calls_of(message) == []


async def test_a_stream_with_comments_and_without_its_end(agent: ScriptedAgent) -> None:
    alive = ": OPENROUTER PROCESSING\n\n"
    shown = await agent.watched(
        stream_of(alive, said({"content": "Hello."}), alive, STOP, has_end=False)
    )
    outcome = await agent.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "Hello.")
    assert "".join(chunk.text for chunk in shown) == "Hello."


HI = said({"content": "Hi."})
THOUGHT: dict[str, list[Chunk]] = {
    "reasoning_content": [said({"reasoning_content": "So."}), HI],
    "reasoning": [said({"reasoning": "S"}), said({"reasoning": "o."}), HI],
    "both": [said({"reasoning": "So.", "reasoning_content": "So."}), HI],
    "details": [said({"reasoning_details": [{"type": "reasoning.text", "text": "So."}]}), HI],
    "blocks": [
        said({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "So."}]}]}),
        HI,
    ],
    "tags in pieces": [said({"content": c}) for c in "\n<think>So.</think>\n\nHi."],
}


def test_what_is_thought_is_told_from_what_is_said() -> None:
    for chunks in THOUGHT.values():
        message, shown = read(*chunks, STOP)
        assert message.text == "".join(chunk.text for chunk in shown) == "Hi."
        assert message.additional_kwargs[REASONING] == "So."


PARTS = {
    "Hi.": ("", "Hi."),
    "<think>So.</think>Hi.": ("So.", "Hi."),
    "\n<THINK>\nSo.\n</think>\n\nHi.": ("\nSo.\n", "Hi."),
    "<thinking>a < b</thinking> Hi.": ("a < b", "Hi."),
    "<think>So.": ("So.", ""),
    "<think></think>Hi.": ("", "Hi."),
    "The tag <think> and </think> it.": ("", "The tag <think> and </think> it."),
    "<thin air>": ("", "<thin air>"),
    "<": ("", "<"),
    "": ("", ""),
}


def test_a_thought_is_told_however_it_is_cut() -> None:
    for words, parts in PARTS.items():
        for size in (1, 3, 1000):
            reader = ThoughtReader()
            found = [
                reader.feed(words[start : start + size]) for start in range(0, len(words), size)
            ]
            found.append(reader.feed("", is_last=True))
            assert ("".join(t for t, _ in found), "".join(s for _, s in found)) == parts
        assert thought_apart(words) == parts
    # its beginning is in the template
    assert thought_apart("So I look.\n</think>\n\nHi.") == ("So I look.", "Hi.")
    assert thought_apart("Write </think> there.") == ("", "Write </think> there.")


FAILED = {"finish_reason": "error", "error": {"code": 502, "message": "Busy."}}
HALF = json.dumps({"choices": [{"message": {"content": "Half"}, **FAILED}]}).encode()
BROKEN: list[tuple[Scripted, str]] = [
    (stream_of({"error": "Busy."}), "answered with an error: Busy."),
    (stream_of({"choices": [{"delta": {"content": ""}, **FAILED}]}), "(502): Busy."),  # OpenRouter
    (stream_of(said({}, "error")), "the reply failed on the way"),
    (stream_of(said({"content": "Ha"}, "network_error")), "failed on the way"),  # Zhipu
    (raw(HALF, content_type="application/json"), "failed (502): Busy."),
]


@pytest.mark.environ(MANUS_RETRY_FOR="60")
async def test_an_error_in_a_reply(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("manus.models.retry.FIRST_WAIT", 0.001)
    replies = [reply for reply, _ in BROKEN]
    parts = await agent.parts(["messages", "custom"], *replies, text("Whole."))
    told = [data["reason"] for mode, data in parts if mode == "custom" and data["type"] == "retry"]
    for (_, words), reason in zip(BROKEN, told, strict=True):
        assert words in reason
    assert (await agent.outcome()).output == "Whole."
