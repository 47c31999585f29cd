"""Replies in the formats of compatible servers, and the usage that they report."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk

from manus.models.normalize import ReplyReader
from manus.models.reasoning import REASONING, ReasoningSplitter, split_reasoning
from manus.models.tokens import cache_tokens, usage_metadata
from manus.state.messages import list_calls
from tests.helpers.agent import ScriptedAgent
from tests.server import Scripted, build_chunk, call, calls, raw, reply_stream, text, tokens

ONE = {"path": "a", "line": "1"}
TWO = {"path": "b", "line": "2"}
ARGS, OTHER = json.dumps(ONE), json.dumps(TWO)
Chunk = dict[str, Any]


def piece(name: str | None = None, arguments: Any = None, **options: Any) -> Chunk:
    """Return a chunk of a call."""
    fields = {"name": name, "arguments": arguments}
    function = {key: value for key, value in fields.items() if value is not None}
    return build_chunk({"tool_calls": [{"type": "function", "function": function, **options}]})


def build_reply(reason: str = "stop", **message: Any) -> Chunk:
    """Return a reply in one chunk."""
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def call_chunk(**options: Any) -> Chunk:
    """Return a call in one chunk."""
    return build_reply(
        "tool_calls", content=None, tool_calls=[{"id": "x", "type": "function", **options}]
    )


STOP, CALLED = build_chunk({}, "stop"), build_chunk({}, "tool_calls")


def read(*chunks: Chunk) -> tuple[AIMessage, list[AIMessageChunk]]:
    """Return the reply in these chunks, and the parts that were streamed meanwhile."""
    reader = ReplyReader()
    parts = [part for chunk in chunks if (part := reader.feed(chunk)) is not None]
    parts.append(reader.end())
    return reader.message(), parts


TWO_CALLS: dict[str, list[Chunk]] = {
    "no index, empty ids": [piece("append", ARGS, id=""), piece("append", OTHER, id="")],
    "no index, no ids, in pieces": [
        piece("append", ARGS[:9]),
        piece(None, ARGS[9:]),
        piece("append", ""),
        piece(None, OTHER),
    ],
    "one index, no ids": [piece("append", ARGS, index=0), piece("append", OTHER, index=0)],
    "the name once": [piece("append", ARGS, id="x", index=0), piece(None, OTHER, index=0)],
    "no index": [piece("append", ARGS, id="x"), piece("append", OTHER, id="y")],
    "one index, in pieces": [
        piece("append", "", id="x", index=0),
        piece(None, ARGS[:9], index=0),
        piece(None, ARGS[9:], index=0),
        piece("append", "", id="y", index=0),
        piece(None, OTHER, index=0),
    ],
    "one id": [piece("append", ARGS, id="x", index=0), piece("append", OTHER, id="x", index=1)],
    "the first piece at a wrong index": [
        piece("append", ARGS, id="x", index=0),
        piece("append", "", id="y", index=0),
        piece(None, OTHER, id="y", index=1),
    ],
    "all in one piece": [
        build_chunk(
            {
                "tool_calls": [
                    {"id": "x", "function": {"name": "append", "arguments": ARGS}},
                    {"id": "y", "function": {"name": "append", "arguments": OTHER}},
                ]
            }
        )
    ],
}


def test_two_calls_stay_two(subtests: pytest.Subtests) -> None:
    for chunks in TWO_CALLS.values():
        with subtests.test(chunks=chunks):
            message, parts = read(*chunks, CALLED)
            assert [c["args"] for c in message.tool_calls] == [ONE, TWO]
            pieces = [call for chunk in parts for call in chunk.tool_call_chunks]
            assert {call["index"] for call in pieces} == {0, 1}
            assert [c["name"] for c in message.tool_calls] == ["append", "append"]


BEGUN = piece("append", ARGS[:9], id="x", index=0)
ONE_CALL: dict[str, list[Chunk]] = {
    "a name in pieces": [piece("ap", index=0, id="x"), piece("pend", index=0), piece(None, ARGS)],
    "a growing name": [piece("ap", index=0, id="x"), piece("append", ARGS, index=0, id="x")],
    "the name in each chunk": [
        piece("append", ""),
        piece("append", ARGS[:9]),
        piece("append", ARGS[9:]),
    ],
    "a name at the end": [piece("append", ARGS, id="x", index=0), piece("append", "", index=0)],
    "an empty object first": [piece("append", "{}", index=0), piece(None, ARGS, index=0)],
    "name and id again": [BEGUN, piece("append", ARGS[9:], id="x", index=0)],
    "another id for each piece": [BEGUN, piece(None, ARGS[9:], id="y", index=0)],
    "pieces without an index": [piece("append", ARGS[:9], id="x"), piece(None, ARGS[9:])],
    "an object": [piece("append", ONE, id="x", index=0)],
    "no function at first": [piece(id="x", index=0, function=None), piece("append", ARGS, index=0)],
    "as before parallel calls": [
        build_chunk({"function_call": {"name": "append", "arguments": ARGS[:9]}}),
        build_chunk({"function_call": {"arguments": ARGS[9:]}}),
    ],
    "without a function": [
        build_chunk({"tool_calls": [{"index": 0, "id": "x", "name": "append", "arguments": ARGS}]})
    ],
    "`null` as a text": [
        build_chunk(BEGUN["choices"][0]["delta"], "null"),
        piece(None, ARGS[9:], index=0),
    ],
    "whole, a number for an id": [call_chunk(id=7, function={"name": "append", "arguments": ARGS})],
}


def test_one_call_stays_one(subtests: pytest.Subtests) -> None:
    for chunks in ONE_CALL.values():
        with subtests.test(chunks=chunks):
            message, _ = read(*chunks, CALLED)
            [call] = list_calls(message)
            assert (call["name"], call["args"]) == ("append", ONE)
    for arguments in ({"arguments": None}, {}, {"arguments": " "}):
        with subtests.test(arguments=arguments):
            message, _ = read(call_chunk(function={"name": "poll", **arguments}))
            assert [c["args"] for c in message.tool_calls] == [{}]


async def test_half_a_call_is_not_a_call_even_if_its_end_has_another_id(
    agent: ScriptedAgent,
) -> None:
    """LangChain would turn each half into a whole call."""
    half = piece(None, ARGS[9:14], id="y", index=0)
    await agent.watched(reply_stream(BEGUN, half, build_chunk({}, "length")), text("done"))
    assert agent.lines("a") == []
    assert "length limit" in (await agent.observations())[0]


HELLO: dict[str, list[Chunk]] = {
    "content null": [build_chunk({"content": None}), build_chunk({"content": "Hello."}), STOP],
    "no delta at the end": [build_chunk({"content": "Hello."}), build_chunk(None, "stop")],
    "blocks": [build_chunk({"content": [{"type": "text", "text": "Hello."}]}), STOP],
    "calls without calls": [build_chunk({"content": "Hello.", "tool_calls": []}), CALLED],
    "a filter's verdict first": [
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        build_chunk({"content": "Hello."}),
        STOP,
    ],
    "whole, no call": [build_reply(content="Hello.", tool_calls=[{"id": "x", "function": None}])],
}


def test_the_text_arrives(subtests: pytest.Subtests) -> None:
    for chunks in HELLO.values():
        with subtests.test(chunks=chunks):
            message, parts = read(*chunks)
            assert message.text == "".join(chunk.text for chunk in parts) == "Hello."
            assert list_calls(message) == []


SECOND = {"index": 1, "delta": {"content": "Bye."}, "finish_reason": "error"}
USED = {"prompt_tokens": 50, "completion_tokens": 3}
STREAMS: dict[str, str] = {
    "no space, CRLF": "data:{hello}\r\n\r\ndata:{stop}\r\n\r\ndata:[DONE]\r\n\r\n",
    "no data": "retry: 3000\n\nevent: ping\n\ndata: {hello}\n\nid: 1\n\ndata: {stop}\n\n",
    "empty data": "data:\n\ndata: {hello}\n\ndata: \n\ndata: {stop}\n\n",
    "a byte order mark": "\ufeffdata: {hello}\n\ndata: {stop}\n\n",
    "no blank line at the end": "data: {hello}\n\ndata: {stop}\n\ndata: [DONE]",
    "no blank line at all": "data: {hello}\ndata: {stop}\ndata: [DONE]\n",
    "one value on two lines": "data: {hello_1}\ndata: {hello_2}\n\ndata: {stop}\n\n",
    "two choices": "data: {hello}\n\ndata: {second}\n\ndata: {stop}\n\n",
    "usage in the choice": "data: {hello}\n\ndata: {stop_with_usage}\n\ndata: [DONE]\n\n",
}


async def test_forms_of_a_stream(agent: ScriptedAgent, subtests: pytest.Subtests) -> None:
    hello = json.dumps(build_chunk({"content": "Hello."}))
    with_usage = {**STOP["choices"][0], "usage": USED}
    values = {
        "{hello}": hello,
        "{hello_1}": hello[:40],
        "{hello_2}": hello[40:],
        "{stop}": json.dumps(STOP),
        "{second}": json.dumps({"choices": [SECOND]}),
        "{stop_with_usage}": json.dumps({"choices": [with_usage]}),
    }
    for name, stream in STREAMS.items():
        with subtests.test(name=name):
            for placeholder, value in values.items():
                stream = stream.replace(placeholder, value)
            reply = raw(stream.encode(), content_type="text/event-stream")
            outcome = await agent.run(reply, thread=name)
            assert (outcome.stop_reason, outcome.output) == ("answered", "Hello.")
            is_counted = outcome.usage["input_tokens"] == USED["prompt_tokens"]
            assert is_counted == (name == "usage in the choice")


ERRORS: list[tuple[str, str, str]] = [
    ("event: error\ndata: ", '{"code": "InvalidParameter", "message": "No."}', "error"),
    ("data: ", '{"code": "InvalidApiKey", "message": "No."}', "error"),
    ("event:error\ndata:", "No.", "interrupted"),
    ("event: error\ndata: ", '{"error": {"code": "Arrearage", "message": "No."}}', "error"),
    (
        "event: error\ndata: ",
        '{"code": "InvalidParameter", "message": "No. Range of input length should be [1, 30720]"}',
        "error",
    ),
]


@pytest.mark.environ(MANUS_RETRY_FOR="0")
async def test_an_error_as_an_event(agent: ScriptedAgent, subtests: pytest.Subtests) -> None:
    for start, description, stop_reason in ERRORS:
        with subtests.test(start=start, description=description):
            body = f"data: {json.dumps(build_chunk({'content': ''}))}\n\n{start}{description}\n\n"
            reply = raw(body.encode(), content_type="text/event-stream")
            outcome = await agent.run(reply, thread=description)
            assert (outcome.stop_reason, outcome.success) == (stop_reason, False)
            assert "No" in outcome.output
            assert ("context window" in outcome.output) == ("Range" in description)
    assert len(agent.server.requests) == len(ERRORS), "none is repeated"


async def test_a_stream_with_comments_and_without_its_end(agent: ScriptedAgent) -> None:
    alive = ": OPENROUTER PROCESSING\n\n"
    parts = await agent.watched(
        reply_stream(alive, build_chunk({"content": "Hello."}), alive, STOP, has_end=False)
    )
    outcome = await agent.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "Hello.")
    assert "".join(chunk.text for chunk in parts) == "Hello."


HI = build_chunk({"content": "Hi."})
THOUGHT: dict[str, list[Chunk]] = {
    "reasoning_content": [build_chunk({"reasoning_content": "So."}), HI],
    "reasoning": [build_chunk({"reasoning": "S"}), build_chunk({"reasoning": "o."}), HI],
    "both": [build_chunk({"reasoning": "So.", "reasoning_content": "So."}), HI],
    "details": [
        build_chunk({"reasoning_details": [{"type": "reasoning.text", "text": "So."}]}),
        HI,
    ],
    "blocks": [
        build_chunk(
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "So."}]}]}
        ),
        HI,
    ],
    "tags in pieces": [build_chunk({"content": c}) for c in "\n<think>So.</think>\n\nHi."],
}


def test_reasoning_is_separated_from_the_text(subtests: pytest.Subtests) -> None:
    for chunks in THOUGHT.values():
        with subtests.test(chunks=chunks):
            message, parts = read(*chunks, STOP)
            assert message.text == "".join(chunk.text for chunk in parts) == "Hi."
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


def test_reasoning_is_recognized_however_it_is_split(subtests: pytest.Subtests) -> None:
    for words, parts in PARTS.items():
        for size in (1, 3, 1000):
            with subtests.test(words=words, parts=parts):
                reader = ReasoningSplitter()
                parts_read = [
                    reader.feed(words[start : start + size]) for start in range(0, len(words), size)
                ]
                parts_read.append(reader.feed("", is_last=True))
                assert (
                    "".join(t for t, _ in parts_read),
                    "".join(s for _, s in parts_read),
                ) == parts
        with subtests.test("whole", words=words):
            assert split_reasoning(words) == parts
    # its start is in the chat template
    assert split_reasoning("So I look.\n</think>\n\nHi.") == ("So I look.", "Hi.")
    assert split_reasoning("Write </think> there.") == ("", "Write </think> there.")


FAILED = {"finish_reason": "error", "error": {"code": 502, "message": "Busy."}}
HALF = json.dumps({"choices": [{"message": {"content": "Half"}, **FAILED}]}).encode()
BROKEN: list[tuple[Scripted, str]] = [
    (reply_stream({"error": "Busy."}), "returned an error: Busy."),
    (
        reply_stream({"choices": [{"delta": {"content": ""}, **FAILED}]}),
        "(502): Busy.",
    ),  # OpenRouter
    (reply_stream(build_chunk({}, "error")), "whose generation failed"),
    (reply_stream(build_chunk({"content": "Ha"}, "network_error")), "whose generation failed"),
    (raw(HALF, content_type="application/json"), "failed (502): Busy."),
]


@pytest.mark.environ(MANUS_RETRY_FOR="60")
async def test_an_error_in_a_reply(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setattr("manus.models.retry.FIRST_WAIT", 0.001)
    replies = [reply for reply, _ in BROKEN]
    parts = await agent.parts(["messages", "custom"], *replies, text("Whole."))
    reasons = [
        data["reason"] for mode, data in parts if mode == "custom" and data["type"] == "retry"
    ]
    for (_, words), reason in zip(BROKEN, reasons, strict=True):
        with subtests.test(words=words, reason=reason):
            assert words in reason
    assert (await agent.outcome()).output == "Whole."


Said = dict[str, Any]
OK = {"prompt_tokens": 50, "completion_tokens": 3, "total_tokens": 53}


def details(**options: Any) -> Said:
    return {**OK, "prompt_tokens_details": options}


# usage, and the meaning: input, output, read from the cache, written to it
FIGURES: dict[str, tuple[Said, tuple[int, int, int, int]]] = {
    "OpenRouter": (details(cached_tokens=20, cache_write_tokens=30), (50, 3, 20, 30)),
    "DeepSeek": ({**OK, "prompt_cache_hit_tokens": 20}, (50, 3, 20, 0)),
    "xAI leaves thoughts out of the reply": (
        {**OK, "total_tokens": 153, "completion_tokens_details": {"reasoning_tokens": 100}},
        (50, 103, 0, 0),
    ),
    "Google has thoughts in the total alone": ({**OK, "total_tokens": 853}, (50, 803, 0, 0)),
    "below zero": ({**OK, "completion_tokens": -3, "total_tokens": -1}, (50, 0, 0, 0)),
    "details as text": ({**OK, "prompt_tokens_details": "{}"}, (50, 3, 0, 0)),
}


def test_the_meaning_of_usage_figures(subtests: pytest.Subtests) -> None:
    for name, (usage, expected) in FIGURES.items():
        with subtests.test(name=name, usage=usage):
            result = usage_metadata(usage)
            assert result is not None
            read, creation = cache_tokens(dict(result["input_token_details"]))
            assert (result["input_tokens"], result["output_tokens"], read, creation) == expected, (
                name
            )
    # Anthropic's package leaves the sum at zero if the kinds are given
    kinds = {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}
    assert cache_tokens({"cache_read": 5, "cache_creation": 0, **kinds}) == (5, 7)


END: Said = {"choices": [], "usage": OK}
SO_FAR: Said = build_chunk({"content": "H"}, usage={**OK, "completion_tokens": 1})


def test_figures_are_counted_once(subtests: pytest.Subtests) -> None:
    for chunks in (
        [build_chunk({"content": "Hi."}), STOP, END],
        [build_chunk({"content": "Hi."}), build_chunk({}, "stop", usage=OK)],
        [SO_FAR, build_chunk({"content": "i."}, usage=OK), build_chunk({}, "stop", usage=OK), END],
    ):
        with subtests.test(chunks=chunks):
            message, _ = read(*chunks)
            usage = message.usage_metadata
            assert usage is not None
            assert (usage["input_tokens"], usage["output_tokens"]) == (50, 3)


async def test_a_reply_with_and_without_figures(
    agent: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    figures = tokens(50, 3, cached=20)
    usage = (await agent.run(text("Hello.", usage=figures))).usage
    assert (usage["input_tokens"], usage["output_tokens"], usage["cached_tokens"]) == (50, 3, 20)
    assert not usage.get("estimated")
    for thread, no_figures in (("text", {"prompt_tokens": "x"}), ("zeros", tokens(0, 0))):
        with subtests.test(thread=thread, no_figures=no_figures):
            silent = calls(call("poll"), usage=no_figures)
            usage = (await agent.run(silent, text("Hello.", usage=figures), thread=thread)).usage
            assert usage["model_calls"] == 2
            assert usage["estimated"] is True, "the sum is, though one of them is known"
            assert 50 < usage["input_tokens"] - 50 < 1_000
            assert usage["output_tokens"] > 3


async def test_the_default_model_has_its_price(
    agent: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cost limit was accepted but could not be enforced: the calls had no cost."""
    (tmp_path / "manus.toml").write_text("[prices.gpt-5]\ninput = 1.0\noutput = 10.0\n")
    monkeypatch.setenv("MANUS_API_KEY", "sk-x")
    monkeypatch.setenv("MANUS_BASE_URL", agent.server.base_url)
    hello = text("Hello.", usage=tokens(1_000_000, 10))
    outcome = await agent.run(hello, model=None, base_url=None)
    assert agent.server.requests[0].model == "gpt-5"
    assert outcome.usage["cost"] == pytest.approx(1.0001)
