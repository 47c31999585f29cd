"""The agent graph from end to end, on a scripted model server."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from manus.prompts import agent as prompts
from manus.state.usage import Budget
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.server import ABSENT, call, calls, text, tokens

DONE = call("terminate", status="success", answer="Done.")


class TestEndings:
    async def test_a_text_is_the_answer(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(text("Hello."))
        assert (outcome.status, outcome.stop_reason) == ("finished", "answered")
        assert (outcome.success, outcome.output) == (True, "Hello.")
        assert outcome.results == ["Step 1: Hello."]
        assert len(agent.server.requests) == 1

    async def test_a_text_can_be_an_ordinary_step(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(text("First I think."), DONE, text_reply="continue")
        assert outcome.stop_reason == "terminated"
        assert outcome.results == [
            "Step 1: First I think.",
            "Step 2: terminate → The run ends with success.",
        ]

    @pytest.mark.parametrize(("status", "success"), [("success", True), ("failure", False)])
    async def test_terminate(self, agent: ScriptedAgent, status: str, success: bool) -> None:
        outcome = await agent.run(calls(call("terminate", status=status), text="That was it."))
        assert (outcome.status, outcome.stop_reason) == ("finished", "terminated")
        assert (outcome.success, outcome.output) == (success, "That was it.")

    @pytest.mark.parametrize("silent", [{}, {"answer": " "}, {"answer": None}])
    async def test_terminate_without_an_answer_is_asked_for_one_once(
        self, agent: ScriptedAgent, silent: dict[str, Any]
    ) -> None:
        ends = call("terminate", status="success", **silent)
        outcome = await agent.run(call("poll"), ends, ends)
        assert (outcome.stop_reason, outcome.success) == ("terminated", True)
        assert len(agent.server.requests) == 3
        assert "`answer`" in agent.server.requests[2].messages[-2]["content"]
        told = [m for m in await agent.messages() if isinstance(m, ToolMessage)]
        [_, asked, accepted] = told
        assert (asked.status, accepted.status) == ("error", "success")
        assert outcome.usage["tool_calls"] == 2, "the first was not carried out"

    @pytest.mark.parametrize(
        "bad", [call("terminate", status="maybe", answer="."), call("terminate", raw='{"status": ')]
    )
    async def test_terminate_with_wrong_arguments_ends_nothing(
        self, agent: ScriptedAgent, bad: Any
    ) -> None:
        outcome = await agent.run(bad, DONE)
        assert outcome.stop_reason == "terminated"
        assert len(agent.server.requests) == 2
        [wrong, right] = [m for m in await agent.messages() if isinstance(m, ToolMessage)]
        assert (wrong.status, right.status) == ("error", "success")

    async def test_on_the_last_step_no_answer_is_asked_for(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(call("terminate", status="success"), max_steps=1)
        assert (outcome.stop_reason, outcome.success) == ("terminated", True)
        assert outcome.output

    @pytest.mark.parametrize("name", ["answer", "summary", "result"])
    async def test_the_answer_is_the_output_under_each_of_its_names(
        self, agent: ScriptedAgent, name: str
    ) -> None:
        ends = call("terminate", status="success", **{name: "Seven euros."})
        outcome = await agent.run(calls(ends, text="I am done."))
        assert (outcome.stop_reason, outcome.success) == ("terminated", True)
        assert outcome.output == "Seven euros.", "not the text beside it"
        assert len(agent.server.requests) == 1

    async def test_calls_after_terminate_are_not_executed(self, agent: ScriptedAgent) -> None:
        write = call("append", path="a", line="1")
        outcome = await agent.run(calls(write, DONE, write, call("nothing")))
        assert outcome.stop_reason == "terminated"
        assert agent.lines("a") == ["1"]
        assert (await agent.observations())[2:] == [prompts.after_special("terminate")] * 2
        assert_paired(await agent.messages())

    async def test_out_of_steps(self, agent: ScriptedAgent) -> None:
        work = [calls(call("poll"), text=f"Try {n}.") for n in (1, 2, 3)]
        outcome = await agent.run(*work, max_steps=3)
        assert (outcome.status, outcome.stop_reason) == ("idle", "max_steps")
        assert outcome.success is False
        assert outcome.output == "Try 3.\n\nTerminated: Reached max steps (3)"
        assert outcome.results == [f"Step {n}: poll → {n} %" for n in (1, 2, 3)]
        silent = await agent.run(call("poll"), thread="silent", max_steps=1)
        assert silent.output == "Step 1: poll → 4 %\n\nTerminated: Reached max steps (1)"

    async def test_out_of_budget(self, agent: ScriptedAgent) -> None:
        one = calls(call("poll"), usage=tokens(100, 10))
        outcome = await agent.run(one, budget=Budget(tokens=100))
        assert (outcome.status, outcome.stop_reason) == ("idle", "budget")
        assert "Terminated: Budget used up: tokens (110 of 100)" in outcome.output

    async def test_a_call_that_is_made_all_the_same_is_not_carried_out(
        self, agent: ScriptedAgent
    ) -> None:
        write = call("append", path="a", line="1")
        outcome = await agent.run(*[write] * 2, budget=Budget(tool_calls=1))
        assert outcome.stop_reason == "budget"
        assert agent.lines("a") == ["1"]

    async def test_the_model_is_warned_when_most_of_a_budget_is_used(
        self, agent: ScriptedAgent
    ) -> None:
        replies = [call("poll")] * 8
        await agent.run(*replies, text("done"), budget=Budget(tool_calls=10))
        warned = ["Most of this run" in r.last["content"] for r in agent.server.requests]
        assert warned == [False] * 8 + [True]
        assert "tool calls (8 of 10)" in agent.server.requests[-1].last["content"]


class TestToolChoice:
    async def test_none_sends_no_tools(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(text("Hello."), tool_choice="none")
        assert outcome.stop_reason == "answered"
        [request] = agent.server.requests
        assert "tools" not in request.body
        assert "tool_choice" not in request.body
        assert prompts.NO_TOOLS_NOW in request.last["content"]

    async def test_required_asks_again_twice(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(text("Hm."), text("Hm?"), DONE, tool_choice="required")
        assert outcome.stop_reason == "terminated"
        assert outcome.usage["model_calls"] == 3
        assert agent.server.requests[1].last["content"] == prompts.TOOL_REQUIRED
        assert [type(m) for m in await agent.messages()] == [HumanMessage, AIMessage, ToolMessage]
        outcome = await agent.run(*[text("No.")] * 3, request="Again.", tool_choice="required")
        assert outcome.stop_reason == "error"
        assert "`required`" in outcome.output


class TestCalls:
    async def test_there_is_one_message_for_each_whatever_happens(
        self, agent: ScriptedAgent
    ) -> None:
        await agent.run(
            calls(
                call("read", path="missing"),
                call("nothing", x=1),
                call("append", path="a"),
                call("append", path="a", line=["1"], colour="red"),
                call("append", raw='{"path": "a", "li'),
                call("append", raw="[1, 2]"),
                call("broken"),
                call("cancelled"),
                call("slow"),
                call("append", path="../a", line="1"),
                call("poll", raw=""),
            ),
            text("Done."),
        )
        history = await agent.messages()
        assert_paired(history)
        seen = await agent.observations()
        expected = [
            ["There is no file missing."],
            ["There is no tool `nothing`", "append", "terminate"],
            ["`line`"],
            ["`colour`", "`line`"],
            ["JSON", '{"path": "a", "li'],
            ["not an object", "[1, 2]"],
            ["RuntimeError", "the disk is on fire"],
            ["cancelled"],
            ["did not end within"],
            ["outside the workspace"],
            ["1 %"],
        ]
        for said, words in zip(seen, expected, strict=True):
            assert all(word in said for word in words), said
        errors = [m.status for m in history if isinstance(m, ToolMessage)]
        assert errors == ["error"] * 10 + ["success"]
        assert agent.lines("a") == []

    @pytest.mark.parametrize("call_id", [None, ABSENT, "x"])
    async def test_calls_without_an_id_or_with_the_same(
        self, agent: ScriptedAgent, call_id: Any
    ) -> None:
        twice = calls(call("poll", id=call_id), call("poll", id=call_id))
        await agent.run(twice, twice, text("Done."))
        assert await agent.observations() == ["1 %", "2 %", "3 %", "4 %"]
        assert_paired(await agent.messages())

    async def test_calls_that_do_not_touch_the_same_run_side_by_side(
        self, agent: ScriptedAgent
    ) -> None:
        # `hold` ends only when the file is there that the call behind it writes
        await agent.run(
            calls(call("hold", path="a", line="1"), call("append", path="release", line="1")),
            text("Done."),
        )
        assert await agent.observations() == ["Released.", "Appended to release."]


async def test_a_second_run_sees_the_history_and_has_steps_of_its_own(agent: ScriptedAgent) -> None:
    read = call("read", path="missing")
    await agent.run(read, read, text("No."), max_steps=3)
    outcome = await agent.run(read, text("No."), request="And now?", max_steps=2)
    assert outcome.stop_reason == "answered"
    assert [line[:11] for line in outcome.results] == ["Step 1: rea", "Step 2: No."]
    assert (await agent.values())["loop"] is None, "what was repeated before does not count"
    roles = [m["role"] for m in agent.server.requests[3].messages]
    assert roles == ["system", "user", *["assistant", "tool"] * 2, "assistant", "user", "user"]


class TestEvents:
    async def test_each_change_of_status_is_told(self, agent: ScriptedAgent) -> None:
        look = calls(call("read", path="a", id="c1"), text="Let me see.", usage=tokens(9, 3))
        events = await agent.events(look, text("Done."), max_steps=5)
        by_type = {event["type"]: event for event in reversed(events)}
        assert (by_type["step"]["step"], by_type["step"]["max_steps"]) == (1, 5)
        thought = by_type["thought"]
        assert thought["text"] == "Let me see."
        assert thought["calls"] == [{"id": "c1", "name": "read", "args": {"path": "a"}}]
        assert (thought["input_tokens"], thought["output_tokens"]) == (9, 3)
        observation = by_type["observation"]
        assert observation["text"] == "There is no file a."
        assert observation["is_error"] is True
        told = [
            (e["status"], e["stop_reason"]) if e["type"] == "status" else e["type"] for e in events
        ]
        assert told == [
            ("running", None),
            ("thinking", None),
            "step",
            "thought",
            ("executing", None),
            "call",
            "observation",
            ("thinking", None),
            "step",
            "thought",
            ("finished", "answered"),
        ]
