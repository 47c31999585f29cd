"""Whole replies of compatible servers that are not as the protocol has them."""

import json
from typing import Any

import pytest

from manus.models.reasoning import ThoughtReader, thought_apart
from tests.helpers.agent import ScriptedAgent
from tests.server import Scripted, call, raw, text

ONE = {"path": "a", "line": "1"}
ARGS = json.dumps(ONE)


def whole(message: Any, reason: str | None = "stop", **more: Any) -> Scripted:
    """A whole reply with this message; `more` stands beside it."""
    choice = {"index": 0, "message": message, "finish_reason": reason}
    body = {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], **more}
    return raw(json.dumps(body).encode(), content_type="application/json")


def called(function: Any, **more: Any) -> Scripted:
    made = {"id": "x", "type": "function", "function": function, **more}
    return whole({"role": "assistant", "content": None, "tool_calls": [made]}, "tool_calls")


@pytest.mark.parametrize(
    "reply",
    [
        called({"name": "append", "arguments": ONE}),
        called({"name": "append", "arguments": ARGS}, id=7),
        called({"name": "append", "arguments": ARGS}, id=""),
        called({"name": "append", "arguments": ARGS}, type=None),
    ],
    ids=["an object", "a number for an id", "no id", "no type"],
)
async def test_a_call_is_carried_out(agent: ScriptedAgent, reply: Scripted) -> None:
    outcome = await agent.run(reply, text("done"))
    assert outcome.stop_reason == "answered"
    assert agent.lines("a") == ["1"]


@pytest.mark.parametrize(
    "function",
    [{"name": "poll", "arguments": None}, {"name": "poll"}, {"name": "poll", "arguments": " "}],
)
async def test_a_call_without_arguments(agent: ScriptedAgent, function: dict[str, Any]) -> None:
    await agent.run(called(function), text("done"))
    assert await agent.observations() == ["1 %"]


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Hello."},
        {"role": "model", "content": "Hello."},
        {"role": "assistant", "content": "Hello.", "tool_calls": None},
        {"role": "assistant", "content": "Hello.", "tool_calls": [{"id": "x", "function": None}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
        {"role": "assistant", "content": None, "refusal": "Hello."},
    ],
)
async def test_the_text_arrives(agent: ScriptedAgent, message: Any) -> None:
    outcome = await agent.run(whole(message))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Hello.")


async def test_a_reply_that_failed_on_the_way_is_asked_for_again(agent: ScriptedAgent) -> None:
    body = {
        "choices": [
            {
                "message": {"role": "assistant", "content": "Half"},
                "finish_reason": "error",
                "error": {"code": 502, "message": "Busy."},
            }
        ]
    }
    failed = raw(json.dumps(body).encode(), content_type="application/json")
    events = await agent.events(failed, text("Whole."))
    assert any("failed (502): Busy." in e["reason"] for e in events if e["type"] == "retry")
    assert (await agent.outcome()).output == "Whole."


async def test_two_values_of_one_argument_are_not_chosen_between(agent: ScriptedAgent) -> None:
    twice = '{"path": "a", "line": "1", "path": "b"}'
    await agent.run(call("append", raw=twice), text("done"))
    assert (agent.lines("a"), agent.lines("b")) == ([], [])
    [told] = await agent.observations()
    assert "`path` stands there twice" in told


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("Hi.", ("", "Hi.")),
        ("<think>So.</think>Hi.", ("So.", "Hi.")),
        ("\n<THINK>\nSo.\n</think>\n\nHi.", ("\nSo.\n", "Hi.")),
        ("<thinking>a < b</thinking> Hi.", ("a < b", "Hi.")),
        ("<think>So.", ("So.", "")),
        ("<think></think>Hi.", ("", "Hi.")),
        ("The tag <think> and </think> it.", ("", "The tag <think> and </think> it.")),
        ("<thin air>", ("", "<thin air>")),
        ("<", ("", "<")),
        ("", ("", "")),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_thought_is_told_however_it_is_cut(said: str, parts: tuple[str, str], size: int) -> None:
    reader = ThoughtReader()
    found = [reader.feed(said[start : start + size]) for start in range(0, len(said), size)]
    found.append(reader.feed("", is_last=True))
    assert ("".join(t for t, _ in found), "".join(s for _, s in found)) == parts
    assert thought_apart(said) == parts


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("So I look.\n</think>\n\nHi.", ("So I look.", "Hi.")),
        ("Write </think> there.", ("", "Write </think> there.")),
        ("```\n<think>\n</think>\n```", ("", "```\n<think>\n</think>\n```")),
    ],
)
def test_a_thought_whose_beginning_is_in_the_template(said: str, parts: tuple[str, str]) -> None:
    assert thought_apart(said) == parts
