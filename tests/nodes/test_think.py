"""The parts of a step: repairing the history, ending a run, measures against loops."""

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from manus.nodes import loop_detection
from manus.nodes.stop_conditions import find_stop_reason
from manus.nodes.turns import HistoryRepair, repair_history, replacement_writes
from manus.prompts import agent as prompts
from manus.state.endings import StopReason
from manus.state.history import append_messages
from manus.state.usage import Budget, Usage, budget_used_up, no_usage
from tests.helpers.agent import TESTER, ScriptedAgent, assert_paired
from tests.server import call, text


def asks(*ids: str, id: str = "a1", bad: tuple[str, ...] = ()) -> AIMessage:  # noqa: A002
    return AIMessage(
        "",
        id=id,
        tool_calls=[{"name": "read", "args": {}, "id": i, "type": "tool_call"} for i in ids],
        invalid_tool_calls=[
            {"name": "edit", "args": "{", "id": i, "error": None, "type": "invalid_tool_call"}
            for i in bad
        ],
    )


def answer(id_: str) -> ToolMessage:
    return ToolMessage(f"answer to {id_}", tool_call_id=id_, id=f"m-{id_}")


USER, AGAIN = HumanMessage("Do it.", id="u1"), HumanMessage("Again.", id="u2")


def nothing_known(_: str) -> None:
    return None


LACKING: list[list[AnyMessage]] = [
    [USER, asks("1"), AGAIN],
    [USER, asks("1", "2"), answer("1"), AGAIN],
    [USER, asks("1", "2"), answer("2"), AGAIN],
    [USER, asks("1", bad=("2",)), AGAIN],
    [USER, asks("1"), AGAIN, asks("2", id="a2"), answer("2"), asks("3", id="a3")],
    [USER, asks("1")],
    [USER, asks("1", "2"), answer("2")],
    [asks("1"), asks("2", id="a2"), AGAIN],
]


def test_each_call_gets_its_message(subtests: pytest.Subtests) -> None:
    for history in LACKING:
        with subtests.test(history=history):
            mended = repair_history(history, nothing_known)
            assert append_messages(history, [replacement_writes(history, mended)]) == mended
            assert_paired(mended)
            assert [m for m in mended if m in history] == history
            added = [m for m in mended if m not in history]
            assert {m.text for m in added} == {prompts.OUTCOME_LOST}
            assert all(isinstance(m, ToolMessage) and m.status == "error" for m in added)
    complete: list[AnyMessage] = [USER, asks("1"), answer("1"), AIMessage("Done."), AGAIN]
    assert repair_history(complete, nothing_known) is complete


def test_a_result_is_moved_behind_its_call_and_an_orphan_removed() -> None:
    call = asks("1")
    history: list[AnyMessage] = [USER, call, AGAIN, answer("1"), answer("0")]
    mended = repair_history(history, nothing_known)
    assert mended == [USER, call, answer("1"), AGAIN]
    assert append_messages(history, [replacement_writes(history, mended)]) == mended
    # the result is taken from the journal
    mended = repair_history([USER, asks("1", "2", "3"), AGAIN], {"2": answer("2")}.get)
    outcome = prompts.OUTCOME_LOST
    assert [m.text for m in mended[2:5]] == [outcome, "answer to 2", outcome]


WHOLE: list[AnyMessage] = [USER, asks("1"), answer("1")]
LATER: list[AnyMessage] = [asks("2", "1", id="a2"), answer("2"), answer("1"), AGAIN]


@pytest.mark.parametrize("length", range(1, len(WHOLE + LATER) + 1))
def test_a_history_that_grows_is_repaired_like_a_new_one(length: int) -> None:
    repair = HistoryRepair(nothing_known)
    assert repair.repair(WHOLE) is WHOLE
    history = [*WHOLE, *LATER][:length]
    assert repair.repair(history) == repair_history(history, nothing_known)
    assert repair.repair(WHOLE) is WHOLE


CALL = {"name": "bash", "args": {}, "id": "1", "type": "tool_call"}
ANSWER = AIMessage("42")
BESIDE = AIMessage("Let me look.", tool_calls=[CALL])
EMPTY = AIMessage(" \n")
DONE = {"status": "success"}


USUAL: dict[str, Any] = {"special": None, "message": BESIDE, "text_ends": True}
USUAL |= {"is_last": False, "over": None, "is_stuck": False}


REASONS: list[tuple[dict[str, Any], StopReason | None]] = [
    ({}, None),
    ({"special": DONE}, "terminated"),
    ({"message": ANSWER}, "answered"),
    ({"message": ANSWER, "text_ends": False}, None),
    ({"message": EMPTY}, None),
    ({"message": None}, None),
    ({"is_last": True}, "max_steps"),
    ({"over": "tokens"}, "budget"),
    ({"is_stuck": True}, "stuck"),
    # an achieved result takes precedence over the reason for stopping
    ({"special": DONE, "is_last": True}, "terminated"),
    ({"special": DONE, "over": "tokens"}, "terminated"),
    ({"special": DONE, "is_stuck": True}, "terminated"),
    ({"message": ANSWER, "is_last": True}, "answered"),
    ({"message": ANSWER, "over": "tokens"}, "answered"),
    ({"message": ANSWER, "text_ends": False, "is_last": True}, "max_steps"),
    ({"is_stuck": True, "is_last": True}, "stuck"),
    ({"over": "tokens", "is_last": True}, "max_steps"),
]


def test_the_reason(subtests: pytest.Subtests) -> None:
    for arguments, reason in REASONS:
        with subtests.test(arguments=arguments, reason=reason):
            assert find_stop_reason(**{**USUAL, **arguments}) == reason


def build_usage(**amounts: Any) -> Usage:
    return {**no_usage(), **amounts}  # type: ignore[typeddict-item]


BUDGETS: list[tuple[Budget, Usage, str | None]] = [
    (Budget(), build_usage(input_tokens=10**9, seconds=1e9, tool_calls=10**6), None),
    (Budget(tokens=100), build_usage(input_tokens=60, output_tokens=39), None),
    (
        Budget(tokens=1100),
        build_usage(input_tokens=1060, output_tokens=40),
        "tokens (1,100 of 1,100)",
    ),
    (Budget(cost=0.5), build_usage(), None),
    (Budget(cost=0.5), build_usage(cost=0.625), "cost (0.62 of 0.50)"),
    (Budget(seconds=5), build_usage(seconds=4.99), None),
    (Budget(seconds=5), build_usage(seconds=5.25), "seconds (5.25 of 5.00)"),
    (Budget(tool_calls=3), build_usage(tool_calls=2), None),
    (Budget(tool_calls=3), build_usage(tool_calls=3), "tool calls (3 of 3)"),
    (Budget(tool_calls=0), build_usage(), "tool calls (0 of 0)"),
    (Budget(model_calls=2), build_usage(model_calls=2), "model calls (2 of 2)"),
]


def test_the_budget(subtests: pytest.Subtests) -> None:
    for budget, usage, words in BUDGETS:
        with subtests.test(budget=budget, usage=usage):
            assert budget_used_up(budget, usage) == words


READ = call("read", path="missing")


async def test_hint_refusal_end(agent: ScriptedAgent) -> None:
    events = await agent.events(*[READ] * 6)
    outcome = await agent.outcome()
    assert (outcome.status, outcome.stop_reason) == ("idle", "stuck")
    assert outcome.success is False
    assert "stuck" in outcome.output
    assert [e["measure"] for e in events if e["type"] == "loop"] == ["hint", "refuse", "ask"]
    hinted = ["stuck in a loop" in r.last["content"] for r in agent.server.requests]
    assert hinted == [False, False, False, True, False, False]
    observation = await agent.observations()
    assert observation[:4] == ["There is no file missing."] * 4
    assert all(text.startswith("Not executed") and "4 times" in text for text in observation[4:])
    assert outcome.usage["tool_calls"] == 4, "refused calls were not executed"
    assert_paired(await agent.messages())


async def test_ignored_calls_leave_empty_messages_which_are_a_loop(agent: ScriptedAgent) -> None:
    outcome = await agent.run(*[call("append", path="a", line="1")] * 4, tool_choice="none")
    assert outcome.stop_reason == "stuck"
    assert (await agent.values())["loop"]["kind"] == "silence"
    hinted = ["last 3 replies were empty" in r.text for r in agent.server.requests]
    assert hinted == [False, False, False, True]
    assert agent.lines("a") == []


async def test_a_slow_build_is_polled_until_it_is_done(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_detection, "SLOW", 0.05)
    profile = replace(TESTER, tools=("bash", "terminate"))
    builder = ScriptedAgent(agent.server, agent.workspace, agent.saver, profile)
    # done at the sixth look, so that the speed of the machine does not matter
    state = "echo >> looks; test $(wc -l < looks) -ge 6 && echo built || echo building"
    look = call("bash", command=f"sleep 0.1; {state}")
    outcome = await builder.run(*[look] * 6, text("It is built."))
    assert outcome.stop_reason == "answered"
    first_lines = [observation.splitlines()[0] for observation in await builder.observations()]
    assert first_lines == ["building"] * 5 + ["built"]
    hinted = ["You are waiting" in r.text for r in agent.server.requests]
    assert hinted == [False, False, False, True, False, False, False]


async def test_a_person_is_asked_and_the_answer_is_passed_on(agent: ScriptedAgent) -> None:
    waiting = await agent.run(*[READ] * 6, interactive=True)
    assert waiting.stop_reason == "interrupted"
    assert "stuck" in waiting.output
    assert "`read`" in waiting.output
    outcome = await agent.invoke(
        Command(resume="Look in b."), READ, READ, text("All right."), interactive=True
    )
    assert (outcome.stop_reason, outcome.output) == ("answered", "All right.")
    assert agent.server.requests[6].messages[-2]["content"] == "Look in b."
    assert (await agent.observations())[6:] == ["There is no file missing."] * 2, "not refused"
    assert "loop" not in agent.server.requests[-1].text, "earlier ones do not count"
    last = await agent.run(*[READ] * 6, interactive=True, max_steps=6, thread="last")
    assert last.stop_reason == "stuck", "there is no step left for an answer"
