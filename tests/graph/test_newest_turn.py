"""What does not fit into the window at once: a prompt, an argument, many results side by side."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from manus.prompts import compaction as prompts
from tests.helpers.agent import TESTER, ScriptedAgent, assert_paired
from tests.server import Request, call, calls, fail, mentions, text, tokens

WINDOW = 12_000
FOX = "The quick brown fox jumps over the lazy dog.\n"
TAIL = b',{"content":"What next?"'


def is_too_large(request: Request) -> bool:
    """As a server would count it whose tokens have four characters each."""
    return len(request.raw) / 4 > WINDOW


@pytest.fixture
def strict(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> ScriptedAgent:
    """An agent whose server refuses what is larger than the window that it was told of."""
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", str(WINDOW))
    agent.server.when(is_too_large).always(fail(400, code="context_length_exceeded"))
    for asked in (prompts.SUMMARIZER, prompts.INSTRUCTION_FINDER):
        agent.server.when(mentions(asked[:40])).always(text("NONE", usage=tokens(10, 10)))
    return agent


def refused(agent: ScriptedAgent) -> list[Request]:
    return [request for request in agent.server.requests if is_too_large(request)]


def arguments(request: Request) -> list[Any]:
    """The arguments of all calls in a request."""
    made = [one for m in request.messages for one in m.get("tool_calls", ())]
    return [json.loads(one["function"]["arguments"]) for one in made]


def whole(shown: str, workspace: Path) -> str:
    """The whole of an argument that was shortened."""
    note = re.search(r"all ([\d,]+) are in (\S+) …\]", shown)
    assert note is not None
    return (workspace / note[2]).read_bytes().decode()


def assert_prefixes_hold(agent: ScriptedAgent) -> None:
    for before, after in itertools.pairwise(agent.server.requests):
        assert after.raw.startswith(before.raw[: before.raw.rindex(TAIL)])


async def test_a_large_argument_is_shortened_in_the_request_alone(strict: ScriptedAgent) -> None:
    written = "".join(f"{n}: {FOX}" for n in range(12_000))
    assert len(written) > 600_000
    outcome = await strict.run(
        call("append", path="a.txt", line=written),
        call("append", path="b.txt", line="short"),
        call("read", path="b.txt"),
        text("done"),
    )
    assert (outcome.stop_reason, refused(strict)) == ("answered", [])
    assert_prefixes_hold(strict)
    shown = arguments(strict.server.requests[-1])
    assert shown[1:] == [{"path": "b.txt", "line": "short"}, {"path": "b.txt"}]
    assert shown[0]["path"] == "a.txt"
    assert shown[0]["line"].startswith("0: The quick")
    assert shown[0]["line"].endswith("11999: " + FOX)
    assert "left out here, not in the call" in shown[0]["line"]
    assert whole(shown[0]["line"], strict.workspace) == written
    [first, *_] = [m for m in await strict.messages() if isinstance(m, AIMessage)]
    assert first.tool_calls[0]["args"]["line"] == written
    assert (strict.workspace / "a.txt").read_text() == written + "\n"


@pytest.mark.parametrize("deep", [["word"] * 40_000, {"a": {"b": [FOX * 500, FOX * 900, 1]}}])
async def test_arguments_of_any_shape_stay_json(strict: ScriptedAgent, deep: object) -> None:
    outcome = await strict.run(
        call("nothing", {"given": deep}), call("read", path="x"), text("done")
    )
    assert (outcome.stop_reason, refused(strict)) == ("answered", [])
    assert_prefixes_hold(strict)
    assert isinstance(arguments(strict.server.requests[-1])[0], dict)


async def test_arguments_that_are_no_json_are_shortened_too(strict: ScriptedAgent) -> None:
    broken = call("append", raw='{"path": "a.txt", "line": ' + FOX * 4_000)
    outcome = await strict.run(broken, call("read", path="x"), text("done"))
    assert (outcome.stop_reason, refused(strict)) == ("answered", [])
    assert_prefixes_hold(strict)


async def test_a_long_text_beside_a_call_is_shortened(strict: ScriptedAgent) -> None:
    said = calls(call("read", path="x"), text=FOX * 4_000)
    outcome = await strict.run(said, call("read", path="y"), text("done"))
    assert (outcome.stop_reason, refused(strict)) == ("answered", [])
    assert_prefixes_hold(strict)


async def test_many_results_side_by_side_share_the_room(strict: ScriptedAgent) -> None:
    for number in range(16):
        (strict.workspace / f"{number}").write_text(f"file {number}\n" + FOX * 200)
    (strict.workspace / "short").write_text("short")
    reads = [call("read", path=f"{number}") for number in range(16)]
    again = call("read", path="short")
    outcome = await strict.run(calls(*reads, again), again, text("done"))
    assert (outcome.stop_reason, refused(strict)) == ("answered", [])
    assert_prefixes_hold(strict)
    seen = [m["content"] for m in strict.server.requests[-1].messages if m["role"] == "tool"]
    assert [s.splitlines()[0] for s in seen[:16]] == [f"file {number}" for number in range(16)]
    assert seen[16:] == ["short", "short"]
    assert_paired(await strict.messages())


async def test_a_large_argument_and_a_large_request_fit_beside_many_tools(
    strict: ScriptedAgent,
) -> None:
    described = replace(TESTER, system_prompt=FOX * 300)  # a third of the window
    large = ScriptedAgent(strict.server, strict.workspace, strict.saver, described)
    large_call = call("append", path="a.txt", line=FOX * 9_000)
    outcome = await large.run(large_call, large_call, text("done"), request="Sum up. " + FOX * 2000)
    assert (outcome.stop_reason, refused(large)) == ("answered", [])


@pytest.mark.parametrize("vision", ["true", "false"])
async def test_pictures_in_older_turns_stay_where_they_were(
    strict: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, vision: str
) -> None:
    monkeypatch.setenv("MANUS_VISION", vision)
    both = calls(call("picture"), call("poll"))
    look = call("read", path="x")
    outcome = await strict.run(call("picture"), look, both, call("poll"), text("done"))
    assert outcome.stop_reason == "answered"
    assert_prefixes_hold(strict)
    pictures = strict.server.requests[-1].raw.count(b"data:image/png")
    assert pictures == (2 if vision == "true" else 0)


async def test_a_prompt_larger_than_the_window_ends_the_run_before_a_request(
    strict: ScriptedAgent,
) -> None:
    described = replace(TESTER, system_prompt=FOX * 2_000)
    outcome = await ScriptedAgent(strict.server, strict.workspace, strict.saver, described).run()
    assert (outcome.stop_reason, strict.server.requests) == ("error", [])
    assert len(outcome.output.splitlines()) == 1
    assert re.search(
        r"system prompt \(about 1\d,\d{3} tokens\), the tools \(about [\d,]+ tokens\), .* in a "
        r"window of 12,000; use a shorter system prompt, or a model with a larger window "
        r"\(`context_window`\)\.$",
        outcome.output,
    )


async def test_a_prompt_larger_than_an_unknown_window_ends_it_after_one_refusal(
    agent: ScriptedAgent,
) -> None:
    described = replace(TESTER, system_prompt=FOX * 2_000)
    large = ScriptedAgent(agent.server, agent.workspace, agent.saver, described)
    looks = [call("read", path=f"{n}") for n in range(6)]
    words = "This model's maximum context length is 8192 tokens."
    outcome = await large.run(
        *looks, fail(400, code="context_length_exceeded", message=words), max_steps=9
    )
    assert (outcome.stop_reason, len(large.server.requests)) == ("error", 7)
    assert len(outcome.output.splitlines()) == 1
    assert "maximum context length is 8192 tokens" in outcome.output
    assert "use a shorter system prompt" in outcome.output


async def test_a_prompt_that_takes_most_of_the_window_does_not_sum_up_at_each_step(
    strict: ScriptedAgent,
) -> None:
    described = replace(TESTER, system_prompt=FOX * 850)  # 0.8 of the window and more
    large = ScriptedAgent(strict.server, strict.workspace, strict.saver, described)
    looks = [call("read", path=f"{n}") for n in range(12)]
    outcome = await large.run(*looks, text("done"), max_steps=20)
    assert (outcome.stop_reason, refused(large)) == ("answered", [])
    assert (await large.values()).get("compaction", {"count": 0})["count"] <= 2
