"""Streams as compatible servers send them, which are not all as the protocol has them.

Each is what a server was seen to send (Ollama, vLLM, LM Studio, DeepSeek, Mistral, OpenRouter); the
real client reads it from the scripted server.
"""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from manus.models.reasoning import REASONING
from manus.state.messages import calls_of
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.server import Scripted, raw, text

ONE = {"path": "a", "line": "1"}
TWO = {"path": "b", "line": "2"}
ARGS, OTHER = json.dumps(ONE), json.dumps(TWO)
USAGE = {"prompt_tokens": 50, "completion_tokens": 3, "total_tokens": 53}
Chunk = dict[str, Any] | str


def sse(*chunks: Chunk, done: bool = True) -> Scripted:
    """A stream of these chunks; a text stands there as it is."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [c if isinstance(c, str) else f"data: {json.dumps({**head, **c})}\n\n" for c in chunks]
    ending = "data: [DONE]\n\n" if done else ""
    return raw(("".join(events) + ending).encode(), content_type="text/event-stream")


def said(delta: Any, reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


def piece(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """A piece of a call."""
    given = {"name": name, "arguments": arguments}
    function = {key: value for key, value in given.items() if value is not None}
    return said({"tool_calls": [{"type": "function", "function": function, **more}]})


STOP, CALLED = said({}, "stop"), said({}, "tool_calls")


async def first(agent: ScriptedAgent) -> AIMessage:
    return next(m for m in await agent.messages() if isinstance(m, AIMessage))


TWO_CALLS: dict[str, list[Chunk]] = {
    "no index": [piece("append", ARGS, id="x"), piece("append", OTHER, id="y")],
    "index null": [
        piece("append", ARGS, id="x", index=None),
        piece("append", OTHER, id="y", index=None),
    ],
    "one index": [
        piece("append", ARGS, id="x", index=0),
        piece("append", OTHER, id="y", index=0),
    ],
    "one index, in pieces": [
        piece("append", "", id="x", index=0),
        piece(None, ARGS[:9], index=0),
        piece(None, ARGS[9:], index=0),
        piece("append", "", id="y", index=0),
        piece(None, OTHER, index=0),
    ],
    "one index, no ids": [piece("append", ARGS, index=0), piece("append", OTHER, index=0)],
    "one id": [piece("append", ARGS, id="x", index=0), piece("append", OTHER, id="x", index=1)],
    "empty ids": [piece("append", ARGS, id="", index=0), piece("append", OTHER, id="", index=1)],
    "numbers for ids": [
        piece("append", ARGS, id=1, index=0),
        piece("append", OTHER, id=2, index=1),
    ],
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


@pytest.mark.parametrize("chunks", TWO_CALLS.values(), ids=TWO_CALLS)
async def test_two_calls_stay_two(agent: ScriptedAgent, chunks: list[Chunk]) -> None:
    shown = await agent.watched(sse(*chunks, CALLED), text("done"))
    assert [c["args"] for c in calls_of(await first(agent))] == [ONE, TWO]
    assert (agent.lines("a"), agent.lines("b")) == (["1"], ["2"])
    assert_paired(await agent.messages())
    pieces = [call for chunk in shown for call in chunk.tool_call_chunks]
    assert {call["index"] for call in pieces} == {0, 1}
    assert [call["name"] for call in pieces if call["name"]] == ["append", "append"]


ONE_CALL: dict[str, list[Chunk]] = {
    "name and id again": [
        piece("append", ARGS[:9], id="x", index=0),
        piece("append", ARGS[9:], id="x", index=0),
    ],
    "name in pieces": [
        piece("app", ARGS[:9], id="x", index=0),
        piece("end", ARGS[9:], index=0),
    ],
    "another id for each piece": [
        piece("append", ARGS[:9], id="x", index=0),
        piece(None, ARGS[9:], id="y", index=0),
    ],
    "pieces without an index": [piece("append", ARGS[:9], id="x"), piece(None, ARGS[9:])],
    "an object": [piece("append", ONE, id="x", index=0)],
    "null at first": [
        piece(None, None, id="x", index=0, function={"name": "append", "arguments": None}),
        piece(None, ARGS, index=0),
    ],
    "no function at first": [
        piece(None, None, id="x", index=0, function=None),
        piece("append", ARGS, index=0),
    ],
    "all of it again at the end": [
        piece("append", ARGS[:9], id="x", index=0),
        piece(None, ARGS[9:], index=0),
        piece("append", ARGS, id="x", index=0),
    ],
    "all of it again, no id": [piece("append", ARGS, index=0), piece("append", ARGS, index=0)],
}


@pytest.mark.parametrize("chunks", ONE_CALL.values(), ids=ONE_CALL)
@pytest.mark.parametrize("reason", ["tool_calls", "stop"])
async def test_one_call_stays_one(agent: ScriptedAgent, chunks: list[Chunk], reason: str) -> None:
    await agent.watched(sse(*chunks, said({}, reason)), text("done"))
    [call] = calls_of(await first(agent))
    assert (call["name"], call["args"]) == ("append", ONE)
    assert agent.lines("a") == ["1"]


async def test_half_a_call_is_no_call_though_its_end_has_another_id(agent: ScriptedAgent) -> None:
    """LangChain would make a whole call of each half."""
    half = [piece("append", ARGS[:9], id="x", index=0), piece(None, ARGS[9:14], id="y", index=0)]
    await agent.watched(sse(*half, said({}, "length")), text("done"))
    assert agent.lines("a") == []
    assert "length limit" in (await agent.observations())[0]


HELLO: dict[str, list[Chunk]] = {
    "no role": [said({"content": "Hel"}), said({"content": "lo."}), STOP],
    "a role each time": [
        said({"role": "assistant", "content": "Hel"}),
        said({"role": "model", "content": "lo."}),
        STOP,
    ],
    "content null": [
        said({"role": "assistant", "content": None}),
        said({"content": "Hello."}),
        STOP,
    ],
    "no delta at the end": [said({"content": "Hello."}), said(None, "stop")],
    "a message for a delta": [
        {"choices": [{"index": 0, "message": {"content": "Hello."}, "finish_reason": "stop"}]}
    ],
    "blocks": [said({"content": [{"type": "text", "text": "Hello."}]}), STOP],
    "comments": [
        ": OPENROUTER PROCESSING\n\n",
        said({"content": "Hello."}),
        ": keep-alive\n\n",
        STOP,
    ],
    "two reasons": [said({"content": "Hello."}, "stop"), STOP],
    "calls without calls": [said({"content": "Hello.", "tool_calls": []}), CALLED],
    "a filter's verdict first": [
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        said({"content": "Hello."}),
        STOP,
    ],
    "a refusal": [said({"refusal": "Hel"}), said({"refusal": "lo."}), STOP],
    "choices null": [said({"content": "Hello."}), STOP, {"choices": None, "usage": USAGE}],
}


@pytest.mark.parametrize("chunks", HELLO.values(), ids=HELLO)
@pytest.mark.parametrize("done", [True, False], ids=["done", "no end"])
async def test_the_text_arrives(agent: ScriptedAgent, chunks: list[Chunk], done: bool) -> None:
    shown = await agent.watched(sse(*chunks, done=done))
    outcome = await agent.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "Hello.")
    assert "".join(chunk.text for chunk in shown) == "Hello."


@pytest.mark.parametrize(
    "chunks",
    [
        [said({"content": "Hi."}), STOP, {"choices": [], "usage": USAGE}],
        [said({"content": "Hi."}), said({}, "stop", usage=USAGE)],
        [
            said({"content": "H"}, usage={**USAGE, "completion_tokens": 1}),
            said({"content": "i."}, usage=USAGE),
            said({}, "stop", usage=USAGE),
            {"choices": [], "usage": USAGE},
        ],
    ],
    ids=["at the end", "with the reason", "so far, each time"],
)
async def test_figures_are_counted_once(agent: ScriptedAgent, chunks: list[Chunk]) -> None:
    await agent.watched(sse(*chunks))
    usage = (await agent.outcome()).usage
    assert (usage["input_tokens"], usage["output_tokens"]) == (50, 3)


@pytest.mark.parametrize("body", [b"[1]", b"<html>", b'{"ok": true}'])
async def test_what_is_no_reply_at_all(agent: ScriptedAgent, body: bytes) -> None:
    outcome = await agent.run(raw(body, content_type="application/json"))
    assert outcome.stop_reason == "error"
    assert "no chat reply" in outcome.output


BROKEN: dict[str, tuple[list[Chunk], str]] = {
    "an error": ([{"error": {"code": 503, "message": "Busy."}}], "failed (503): Busy."),
    "an error as text": ([{"error": "Busy."}], "answered with an error: Busy."),
    "an event": (['event: error\ndata: {"message": "Busy."}\n\n'], "an error: Busy."),
    "an older vLLM": (
        ['data: {"object": "error", "message": "Busy.", "code": 503}\n\n'],
        "failed (503): Busy.",
    ),
    "OpenRouter": (
        [said({"content": ""}, "error", error={"code": 502, "message": "Busy."})],
        "failed (502): Busy.",
    ),
    "a reason": ([said({}, "error")], "the reply failed on the way"),
    "DeepSeek": ([said({}, "insufficient_system_resource")], "the reply failed on the way"),
}


@pytest.mark.parametrize(("chunks", "words"), BROKEN.values(), ids=BROKEN)
async def test_an_error_in_a_stream_is_tried_again(
    agent: ScriptedAgent, chunks: list[Chunk], words: str
) -> None:
    half = sse(said({"content": "Half"}), *chunks)
    parts = await agent.parts(["messages", "custom"], half, text("Whole."))
    events = [data for mode, data in parts if mode == "custom"]
    assert [words in event["reason"] for event in events if event["type"] == "retry"] == [True]
    assert (await agent.outcome()).output == "Whole."


async def test_a_context_that_is_too_small_is_told_in_a_stream_too(agent: ScriptedAgent) -> None:
    said_so = "the model is loaded with context length of only 4096 tokens"
    error = f'event: error\ndata: {{"error": {{"message": "{said_so}"}}}}\n\n'
    await agent.watched(sse(error))
    outcome = await agent.outcome()
    assert outcome.stop_reason == "error"
    assert "the context window" in outcome.output


THOUGHT: dict[str, list[Chunk]] = {
    "reasoning_content": [said({"reasoning_content": "So."}), said({"content": "Hi."}), STOP],
    "reasoning": [
        said({"reasoning": "S"}),
        said({"reasoning": "o."}),
        said({"content": "Hi."}),
        STOP,
    ],
    "both": [
        said({"reasoning": "So.", "reasoning_content": "So."}),
        said({"content": "Hi."}),
        STOP,
    ],
    "details": [
        said({"reasoning_details": [{"type": "reasoning.text", "text": "So."}]}),
        said({"content": "Hi."}),
        STOP,
    ],
    "blocks": [
        said({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "So."}]}]}),
        said({"content": "Hi."}),
        STOP,
    ],
    "tags": [said({"content": "<think>So.</think>\n\nHi."}), STOP],
    "tags in pieces": [*(said({"content": c}) for c in "\n<think>So.</think>\n\nHi."), STOP],
}


@pytest.mark.parametrize("chunks", THOUGHT.values(), ids=THOUGHT)
async def test_what_is_thought_is_told_from_what_is_said(
    agent: ScriptedAgent, chunks: list[Chunk]
) -> None:
    shown = await agent.watched(sse(*chunks))
    assert (await agent.outcome()).output == "Hi."
    assert "".join(chunk.text for chunk in shown) == "Hi."
    assert (await first(agent)).additional_kwargs[REASONING] == "So."


@pytest.mark.parametrize("end", ["", "\\'"], ids=["JSON", "no JSON"])
@pytest.mark.parametrize("name", ["append", None], ids=["name with each piece", "name once"])
@pytest.mark.parametrize("size", [20, 100_000], ids=["in pieces", "at once"])
async def test_long_arguments_are_not_read_again_and_again(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, name: str | None, size: int, end: str
) -> None:
    """Counted in characters that a parser gets, those of the stream itself among them."""
    read = 0
    loads = json.loads

    def counted(text: str | bytes, *args: Any, **kwargs: Any) -> Any:
        nonlocal read
        read += len(text)
        return loads(text, *args, **kwargs)

    line = 'if (a["\\"]"]) { b(\'}\'); } ' * 800
    whole = f'{json.dumps({"path": "a", "line": line})[:-2]}{end}"}}'
    rest = [piece(name, whole[n : n + size], index=0) for n in range(0, len(whole), size)]
    monkeypatch.setattr(json, "loads", counted)
    await agent.watched(sse(piece("append", "", id="x", index=0), *rest, CALLED), text("done"))
    if not end:
        assert agent.lines("a") == [line]
    assert len(whole) > 20_000
    assert read < 100 * len(whole)
