"""Long runs stay within the window, and no known fact is lost."""

import itertools
import re

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from manus.nodes.turns import is_summary
from manus.state.messages import get_text
from tests.helpers.agent import ScriptedAgent, assert_paired, thread_config
from tests.helpers.long_run import (
    LOOKER,
    REQUEST,
    SUMMARIZER,
    WINDOW,
    agent_requests,
    bytes_per_superstep,
    fact,
    long_run,
    looker_on,
    measure_retention,
    prefix_share,
)
from tests.server import call, calls, fail, mentions, text

LOOKS = [calls(call("look", place=place)) for place in range(1, 9)]
OVERFLOW = fail(400, code="context_length_exceeded")


pytestmark = pytest.mark.environ(MANUS_CONTEXT_WINDOW=str(WINDOW))


@pytest.fixture
def looker(agent: ScriptedAgent) -> ScriptedAgent:
    return looker_on(agent)


async def test_known_facts_are_kept_over_a_long_run(
    looker: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    outcome = await long_run(looker, 160)
    assert outcome.stop_reason == "answered"
    assert [line.split(":")[0] for line in outcome.results] == [f"Step {n}" for n in range(1, 162)]
    values = await looker.values()
    assert_paired(values["messages"])
    requests = agent_requests(looker)
    assert all(REQUEST in request.text for request in requests)
    assert max(len(request.raw) for request in requests) / 4 < WINDOW

    retention = await measure_retention(looker, 160)
    assert retention.compactions >= 2
    assert outcome.usage["roles"]["summary"]["model_calls"] >= retention.compactions
    assert (retention.rules, retention.facts, retention.known) == (10, 20, 20)
    [notes] = [get_text(m) for m in values["messages"] if is_summary(m)]
    assert "The code of locker" in notes
    assert "Here are the notes" not in notes

    # storage grows with the number of steps, compactions or not: this counts bytes, not seconds
    bytes_written = await bytes_per_superstep(looker)
    half = len(bytes_written) // 2
    assert half > 160
    assert sum(bytes_written[half:]) <= 1.5 * sum(bytes_written[:half])

    # requests have a common prefix between two compactions
    breaks = 0
    for before, after in itertools.pairwise(requests):
        with subtests.test(before=before, after=after):
            last = before.raw.rindex(b'"Go on."')
            stable = before.raw[: before.raw.rindex(b",{", 0, last)]
            if not after.raw.startswith(stable):
                breaks += 1
                assert b"Notes on the messages" in after.raw
    assert breaks == retention.compactions
    assert prefix_share(looker) > 0.85


@pytest.mark.environ(MANUS_CONTEXT_WINDOW="1000000")
async def test_a_request_that_is_too_large_is_shortened(looker: ScriptedAgent) -> None:
    outcome = await looker.run(*LOOKS, OVERFLOW, text("done"), request=REQUEST)
    assert outcome.stop_reason == "answered"
    assert outcome.results[7].startswith("Step 8: look → Place 8.")
    last = agent_requests(looker)[-1]
    assert "Notes on the messages #1 to #14" in last.text
    assert "recall" in last.tool_names
    assert last.text.count("A wall, a door, a window. " * 20) == 1
    assert fact(8) in last.text


async def test_a_request_that_stays_too_large_ends_the_run(looker: ScriptedAgent) -> None:
    outcome = await looker.run(*LOOKS[:3], OVERFLOW, OVERFLOW, request=REQUEST)
    assert outcome.stop_reason == "error"
    assert len(outcome.results) == 3
    assert "the context window" in outcome.output
    again = await looker.run(text("hello"), request="And now?")
    assert again.stop_reason == "answered"
    assert_paired(await looker.messages())


async def test_without_a_summarizer_the_notes_list_the_steps(agent: ScriptedAgent) -> None:
    looker = ScriptedAgent(agent.server, agent.workspace, agent.saver, LOOKER)
    agent.server.when(mentions(SUMMARIZER)).always(fail(401))
    recall = calls(call("recall", query="#2"), call("recall", query="locker K8 code"))
    await looker.run(*LOOKS, OVERFLOW, recall, text("done"))
    history = await looker.messages()
    [notes] = [m for m in history if is_summary(m)]
    assert re.search(r"- `?look.*1.*look → Place 1\.", get_text(notes))
    observations = await looker.observations()
    assert observations[-2].startswith("[#2] look:\nPlace 1.")
    assert isinstance(history[0], HumanMessage)
    assert isinstance(notes, SystemMessage)


async def test_another_run_on_the_thread_continues_with_the_notes(looker: ScriptedAgent) -> None:
    first = await looker.run(*LOOKS, OVERFLOW, text("done"), request=REQUEST)
    second = await looker.run(call("recall", query="locker K8"), text("ok"), request="Go on.")
    assert (first.stop_reason, second.stop_reason) == ("answered", "answered")
    assert [line.split(":")[0] for line in second.results] == ["Step 1", "Step 2"]
    assert "- The code" not in second.output
    history = await looker.messages()
    assert [m.content for m in history if isinstance(m, HumanMessage)] == [REQUEST, "Go on."]
    assert sum(map(is_summary, history)) == 1
    assert isinstance(history[-1], AIMessage)


async def test_a_branch_also_recalls_what_another_one_saw(looker: ScriptedAgent) -> None:
    """A person goes back to an earlier checkpoint: both branches have a message of one number."""
    steps = [calls(call("look", place=place)) for place in range(51, 59)]
    first = await looker.run(*LOOKS, OVERFLOW, text("done"), request=REQUEST)
    assert first.stop_reason == "answered"
    config, checkpoint = thread_config("t"), None
    async for snapshot in looker.graph.aget_state_history(config, limit=60):
        if snapshot.next == ("think",) and len(snapshot.values["messages"]) == 5:
            checkpoint = snapshot  # two places have been looked at
    assert checkpoint is not None
    looker.server.script(*steps, OVERFLOW, text("other"))
    await looker.graph.ainvoke(None, checkpoint.config, context=looker.context())
    both = calls(call("recall", query="#6"), call("recall", query="Place 4"))
    await looker.run(both, text("ok"), request="What was there?")
    numbered, found_there = (await looker.observations())[-2:]
    assert "[#6] look:\nPlace 51." in numbered
    assert "[#6] look:\nPlace 3." in numbered
    assert "went back" in numbered, "only one of them is on this branch"
    assert '"place": 4' in found_there


@pytest.mark.environ(MANUS_CONTEXT_WINDOW="4000")
async def test_a_loop_is_detected_even_if_its_messages_were_evicted(looker: ScriptedAgent) -> None:
    for number in range(3):
        (looker.workspace / f"{number}").write_text(f"{number}: a wall, a door, a window\n" * 150)
    reader = ScriptedAgent(looker.server, looker.workspace, looker.saver)
    reads = [call("read", path=f"{n % 3}") for n in range(12)]
    outcome = await reader.run(*reads, max_steps=30)
    assert outcome.stop_reason == "stuck"
    values = await reader.values()
    assert values["compaction"]["evicted"] > 0
    assert values["loop"]["kind"] == "cycle"
    assert len(values["loop"]["calls"]) == 3


@pytest.mark.parametrize(("window", "refused"), [(2_600, True), (1_000_000, False)])
async def test_a_large_request_that_is_refused_for_no_known_reason_is_shortened_once(
    looker: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, window: int, refused: bool
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", str(window))
    no = fail(400, message="No.")
    replies = [no, text("done")] if refused else [no]
    outcome = await looker.run(*LOOKS[:6], *replies, request=REQUEST)
    assert outcome.output == "done" if refused else "refused the request" in outcome.output
    if not refused:
        return
    assert "Notes on the messages" in agent_requests(looker)[-1].text
    outcome = await looker.run(*LOOKS[:6], no, no, request=REQUEST, thread="twice")
    assert outcome.stop_reason == "error"
    assert "refused the request (400): No." in outcome.output


@pytest.mark.environ(MANUS_MAX_TOKENS="8000")
async def test_a_limit_of_the_reply_beyond_the_window_is_lowered(looker: ScriptedAgent) -> None:
    beyond = fail(
        400,
        code="context_length_exceeded",
        message="This model's maximum context length is 131072 tokens. However, you requested "
        "133034 tokens (125034 in the messages, 8000 in the completion).",
    )
    outcome = await looker.run(beyond, text("done"), request=REQUEST)
    assert outcome.output == "done"
    limits = [request.body["max_tokens"] for request in agent_requests(looker)]
    assert limits == [8_000, 6_038]
