"""The measures against circles, one at a time, and what is counted at each step."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from manus.nodes.stuck_check import counted, next_circle
from manus.nodes.turn.loop_detection import Finding
from manus.state.agent import Circle, no_usage
from tests.helpers.agent import ScriptedAgent, assert_paired, thread_config
from tests.server import call, calls, text

READ = call("read", path="missing")
FINDING = Finding("call", "it came again.", ({"name": "read", "args": {"path": "missing"}},))
SILENCE = Finding("silence", "your last 3 replies were empty.")


def asking(*names: str) -> list[AnyMessage]:
    made = [
        {"name": name, "args": {"path": "missing"}, "id": f"{n}", "type": "tool_call"}
        for n, name in enumerate(names)
    ]
    return [AIMessage("", tool_calls=made)]


def at(measure: Any, finding: Finding = FINDING) -> Circle:
    made = list(finding.calls)
    return Circle(kind=finding.kind, what=finding.what, measure=measure, calls=made, since=3)


class TestNextCircle:
    @pytest.mark.parametrize(
        ("before", "finding", "called", "measure"),
        [
            (None, None, "read", None),
            (None, FINDING, "read", "hint"),
            (at("hint"), FINDING, "read", "refuse"),
            (at("hint"), None, "other", None),
            (at("refuse"), FINDING, "read", "ask"),
            (at("refuse"), None, "read", "ask"),
            (at("refuse"), None, "other", None),
            (at("ask"), FINDING, "read", "ask"),
            (None, SILENCE, "", "hint"),
            # where nothing is called there is nothing to refuse
            (at("hint", SILENCE), SILENCE, "", "ask"),
            (at("hint", SILENCE), FINDING, "read", "refuse"),
        ],
    )
    def test_one_measure_at_a_time(
        self, before: Circle | None, finding: Finding | None, called: str, measure: str | None
    ) -> None:
        history = asking(called) if called else [AIMessage("")]
        circle = next_circle(before, finding, history, 7)
        assert (circle and circle["measure"]) == measure
        assert circle is None or circle["since"] == 7

    def test_what_was_refused_among_other_calls_is_not_a_circle_any_more(self) -> None:
        assert next_circle(at("refuse"), None, asking("read", "other"), 7) is None

    def test_the_calls_of_the_circle_are_gathered(self) -> None:
        other = Finding("call", "another.", ({"name": "poll", "args": {}},))
        circle = next_circle(at("hint"), other, asking("poll"), 7)
        assert circle is not None
        assert [made["name"] for made in circle["calls"]] == ["read", "poll"]


def test_the_tool_calls_of_the_newest_step_are_counted() -> None:
    seen = [ToolMessage("x", tool_call_id=str(n)) for n in range(3)]
    history: list[AnyMessage] = [
        HumanMessage("Do."),
        AIMessage(""),
        seen[0],
        AIMessage(""),
        *seen[1:],
    ]
    assert counted(no_usage(), history, 1.5) == {**no_usage(), "tool_calls": 2, "seconds": 1.5}
    assert counted(no_usage(), history[:4], 0.0) == no_usage()


class TestMeasures:
    async def test_hint_refusal_end(self, agent: ScriptedAgent) -> None:
        events = await agent.events(*[READ] * 5)
        outcome = await agent.outcome()
        assert (outcome.status, outcome.stop_reason) == ("idle", "stuck")
        assert outcome.success is False
        assert "round in circles" in outcome.output
        told = [(e["measure"]) for e in events if e["type"] == "circle"]
        assert told == ["hint", "refuse", "ask"]
        hinted = ["going round in circles" in r.last["content"] for r in agent.server.requests]
        assert hinted == [False, False, False, True, False]
        seen = await agent.observations()
        assert seen[:4] == ["There is no file missing."] * 4
        assert seen[4].startswith(
            "Not executed: `read` with {'path': 'missing'} was called 4 times"
        )
        assert_paired(await agent.messages())

    async def test_each_measure_is_in_the_state(self, agent: ScriptedAgent) -> None:
        agent.server.script(*[READ] * 5)
        stream = agent.graph.astream(
            {"request": "Do it."},
            thread_config("t"),
            context=agent.context(),
            stream_mode="updates",
        )
        found = [
            update["stuck_check"]["circle"]
            async for update in stream
            if "circle" in update.get("stuck_check", {})
        ]
        assert [(circle["measure"], circle["since"]) for circle in found] == [
            ("hint", 3),
            ("refuse", 4),
            ("ask", 5),
        ]

    async def test_the_hint_names_what_was_repeated_and_what_came_of_it(
        self, agent: ScriptedAgent
    ) -> None:
        await agent.run(READ, READ, READ, text("No such file."))
        hint = agent.server.requests[3].last["content"]
        assert all(word in hint for word in ("`read`", "missing", "3 times", "There is no file"))

    async def test_another_way_ends_the_circle(self, agent: ScriptedAgent) -> None:
        other = call("append", path="missing", line="1")
        outcome = await agent.run(READ, READ, READ, other, READ, text("There it is."))
        assert outcome.stop_reason == "answered"
        assert (await agent.values())["circle"] is None
        assert (await agent.observations())[-1] == "1\n"
        assert "going round" not in agent.server.requests[-1].text

    async def test_the_refused_call_is_possible_again_after_something_else(
        self, agent: ScriptedAgent
    ) -> None:
        other = call("append", path="missing", line="1")
        await agent.run(READ, READ, READ, READ, other, READ, text("There it is."))
        assert (await agent.observations())[-1] == "1\n"

    async def test_only_the_call_of_the_circle_is_refused(self, agent: ScriptedAgent) -> None:
        both = calls(READ, call("poll"))
        outcome = await agent.run(READ, READ, READ, READ, both, text("Enough."))
        assert outcome.stop_reason == "answered"
        assert (await agent.observations())[-2].startswith("Not executed")
        assert (await agent.observations())[-1] == "1 %"

    async def test_terminate_ends_the_run_at_any_measure(self, agent: ScriptedAgent) -> None:
        give_up = call("terminate", status="failure")
        outcome = await agent.run(READ, READ, READ, READ, calls(READ, give_up))
        assert outcome.stop_reason == "terminated"

    async def test_silence_of_the_model_is_an_error_before_it_is_a_circle(
        self, agent: ScriptedAgent
    ) -> None:
        outcome = await agent.run(READ, text(""), text(""))  # the empty one is asked for again once
        assert outcome.stop_reason == "error"
        assert (await agent.values())["circle"] is None

    async def test_calls_that_nobody_wants_leave_silence_which_is_a_circle(
        self, agent: ScriptedAgent
    ) -> None:
        outcome = await agent.run(*[call("append", path="a", line="1")] * 4, tool_choice="none")
        assert outcome.stop_reason == "stuck"
        assert (await agent.values())["circle"]["kind"] == "silence"
        hinted = ["last 3 replies were empty" in r.text for r in agent.server.requests]
        assert hinted == [False, False, False, True]
        assert agent.lines("a") == []

    async def test_the_same_words_again_and_again(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(*[text("I am thinking.")] * 4, text_reply="continue")
        assert outcome.stop_reason == "stuck"
        assert "I am thinking." in agent.server.requests[3].last["content"]

    async def test_the_threshold_is_the_callers_choice(self, agent: ScriptedAgent) -> None:
        said = [text("I am thinking.")] * 6
        outcome = await agent.run(*said, text_reply="continue", duplicate_threshold=4)
        assert outcome.stop_reason == "stuck"
        assert outcome.usage["model_calls"] == 6

    async def test_polling_is_left_in_peace(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(*[call("poll")] * 10, text("Done."))
        assert outcome.stop_reason == "answered"
        assert "circles" not in agent.server.requests[-1].text


class TestAskingAPerson:
    async def test_a_person_is_asked_and_the_answer_goes_on(self, agent: ScriptedAgent) -> None:
        waiting = await agent.run(*[READ] * 5, interactive=True)
        assert waiting.stop_reason == "interrupted"
        assert "stuck" in waiting.output
        assert "`read`" in waiting.output
        outcome = await agent.invoke(
            Command(resume="Look in b."), READ, text("All right."), interactive=True
        )
        assert (outcome.stop_reason, outcome.output) == ("answered", "All right.")
        assert [r.messages[-2]["content"] for r in agent.server.requests[5:6]] == ["Look in b."]
        assert (await agent.observations())[5] == "There is no file missing.", "not refused now"

    async def test_it_is_still_the_same_run(self, agent: ScriptedAgent) -> None:
        await agent.run(*[READ] * 5, interactive=True)
        outcome = await agent.invoke(
            Command(resume="Go on."), call("poll"), text("Done."), interactive=True
        )
        assert outcome.usage["model_calls"] == 7
        assert outcome.usage["tool_calls"] == 6
        assert len(outcome.results) == 7
        assert (await agent.values())["run"]["step"] == 7

    async def test_what_came_before_the_answer_does_not_count_against_it(
        self, agent: ScriptedAgent
    ) -> None:
        await agent.run(*[READ] * 5, interactive=True)
        await agent.invoke(Command(resume="Go on."), READ, READ, text("No."), interactive=True)
        assert "circles" not in agent.server.requests[-1].text

    async def test_a_second_circle_is_asked_about_again(self, agent: ScriptedAgent) -> None:
        await agent.run(*[READ] * 5, interactive=True)
        again = await agent.invoke(Command(resume="Go on."), *[READ] * 5, interactive=True)
        assert again.stop_reason == "interrupted"
        outcome = await agent.invoke(Command(resume="Stop."), text("I stop."), interactive=True)
        assert outcome.output == "I stop."

    @pytest.mark.parametrize("limits", [{"max_steps": 5}])
    async def test_nobody_is_asked_when_no_step_is_left_for_the_answer(
        self, agent: ScriptedAgent, limits: dict[str, Any]
    ) -> None:
        outcome = await agent.run(*[READ] * 5, interactive=True, **limits)
        assert outcome.stop_reason == "stuck"
