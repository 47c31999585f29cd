"""The agent graph from end to end, on a scripted model server."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from manus.prompts import agent as prompts
from manus.state.budget import Budget
from manus.state.messages import MALFORMED_AT
from tests.helpers.agent import TESTER, ScriptedAgent, assert_paired
from tests.server import ABSENT, call, calls, fail, text, tokens

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

    async def test_terminate_in_another_letter_case(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(call("Terminate", status="success", answer="Done."))
        assert outcome.stop_reason == "terminated"

    @pytest.mark.parametrize(
        "bad",
        [
            call("terminate", answer="Done."),
            call("terminate", status="maybe", answer="Done."),
            call("terminate", status="success", answer="Done.", why="done"),
            call("terminate", raw='{"status": "succ'),
        ],
    )
    async def test_terminate_with_wrong_arguments_ends_nothing(
        self, agent: ScriptedAgent, bad: Any
    ) -> None:
        outcome = await agent.run(bad, DONE)
        assert outcome.stop_reason == "terminated"
        assert len(agent.server.requests) == 2
        [wrong, right] = [m for m in await agent.messages() if isinstance(m, ToolMessage)]
        assert (wrong.status, right.status) == ("error", "success")
        assert "status" in wrong.text or "JSON" in wrong.text

    @pytest.mark.parametrize("silent", [{}, {"answer": ""}, {"answer": " "}, {"answer": None}])
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

    async def test_the_answer_that_was_asked_for_is_the_output(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(call("terminate", status="failure"), DONE)
        assert (outcome.success, outcome.output) == (True, "Done.")

    async def test_on_the_last_step_no_answer_is_asked_for(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(call("terminate", status="success"), max_steps=1)
        assert (outcome.stop_reason, outcome.success) == ("terminated", True)
        assert outcome.output

    async def test_the_next_run_is_asked_again(self, agent: ScriptedAgent) -> None:
        ends = call("terminate", status="success")
        await agent.run(ends, ends)
        await agent.run(ends, ends, request="More.")
        assert len(agent.server.requests) == 4

    @pytest.mark.parametrize("name", ["answer", "summary", "message", "text", "output", "result"])
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

    async def test_terminate_on_the_last_step_counts(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(call("poll"), DONE, max_steps=2)
        assert outcome.stop_reason == "terminated"

    async def test_an_answer_on_the_last_step_counts(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(call("poll"), text("Done."), max_steps=2)
        assert outcome.stop_reason == "answered"

    async def test_out_of_steps(self, agent: ScriptedAgent) -> None:
        work = [calls(call("poll"), text=f"Try {n}.") for n in (1, 2, 3)]
        outcome = await agent.run(*work, max_steps=3)
        assert (outcome.status, outcome.stop_reason) == ("idle", "max_steps")
        assert outcome.success is False
        assert outcome.output == "Try 3.\n\nTerminated: Reached max steps (3)"
        assert outcome.results == [f"Step {n}: poll → {n} %" for n in (1, 2, 3)]

    async def test_the_output_without_a_word_is_the_log_of_the_steps(
        self, agent: ScriptedAgent
    ) -> None:
        outcome = await agent.run(call("poll"), call("poll"), max_steps=2)
        assert outcome.output == (
            "Step 1: poll → 1 %\nStep 2: poll → 2 %\n\nTerminated: Reached max steps (2)"
        )

    @pytest.mark.parametrize(
        ("budget", "steps", "named"),
        [
            (Budget(tokens=100), 1, "tokens (110 of 100)"),
            (Budget(model_calls=3), 3, "model calls (3 of 3)"),
            (Budget(seconds=0.000001), 1, "seconds ("),
        ],
    )
    async def test_out_of_budget(
        self, agent: ScriptedAgent, budget: Budget, steps: int, named: str
    ) -> None:
        one = calls(call("poll"), call("poll"), usage=tokens(100, 10))
        outcome = await agent.run(*[one] * steps, budget=budget)
        assert (outcome.status, outcome.stop_reason) == ("idle", "budget")
        assert f"Terminated: Budget used up: {named}" in outcome.output

    @pytest.mark.parametrize(
        ("budget", "steps", "named"),
        [
            (Budget(tokens=400), 2, "tokens (220 of 400)"),
            (Budget(tool_calls=4), 2, "tool calls (4 of 4)"),
            (Budget(model_calls=4), 3, "model calls (3 of 4)"),
        ],
    )
    async def test_the_last_call_that_a_budget_allows_is_for_the_answer(
        self, agent: ScriptedAgent, budget: Budget, steps: int, named: str
    ) -> None:
        one = calls(call("poll"), call("poll"), usage=tokens(100, 10))
        last = text("Half of it is done.", usage=tokens(100, 10))
        outcome = await agent.run(*[one] * steps, last, budget=budget)
        assert (outcome.status, outcome.stop_reason) == ("idle", "budget")
        assert outcome.success is False
        assert outcome.output.startswith(
            f"Half of it is done.\n\nTerminated: Budget used up: {named}"
        )
        request = agent.server.requests[-1]
        assert "tools" not in request.body
        assert f"nearly used up: {named}" in request.last["content"]

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

    async def test_an_error(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(call("poll"), fail(401))
        assert (outcome.status, outcome.stop_reason) == ("error", "error")
        assert outcome.success is False
        assert "refused the key (401)" in outcome.output
        assert outcome.results == ["Step 1: poll → 1 %"]
        assert outcome.usage["model_calls"] == 1
        assert outcome.usage["tool_calls"] == 1

    async def test_the_thread_is_usable_after_an_error(self, agent: ScriptedAgent) -> None:
        await agent.run(call("append", path="a", line="1"), fail(400, message="No."))
        outcome = await agent.run(text("Back again."), request="And now?")
        assert (outcome.stop_reason, outcome.output) == ("answered", "Back again.")
        assert "Do it." in agent.server.requests[-1].text


class TestToolChoice:
    async def test_none_sends_no_tools(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(text("Hello."), tool_choice="none")
        assert outcome.stop_reason == "answered"
        [request] = agent.server.requests
        assert "tools" not in request.body
        assert "tool_choice" not in request.body
        assert prompts.NO_TOOLS_NOW in request.last["content"]

    async def test_none_executes_no_call(self, agent: ScriptedAgent) -> None:
        write = call("append", path="a", line="1")
        outcome = await agent.run(
            write, calls(write, call("append", raw="{"), text="Enough."), tool_choice="none"
        )
        assert (outcome.stop_reason, outcome.output) == ("answered", "Enough.")
        assert agent.lines("a") == []
        assert outcome.usage["tool_calls"] == 0
        history = await agent.messages()
        assert [type(m) for m in history] == [HumanMessage, AIMessage, AIMessage]
        assert not any(isinstance(m, AIMessage) and m.tool_calls for m in history)

    async def test_none_with_nothing_but_calls_is_stuck_in_the_end(
        self, agent: ScriptedAgent
    ) -> None:
        outcome = await agent.run(*[call("poll")] * 4, tool_choice="none")
        assert outcome.stop_reason == "stuck"

    async def test_auto_leaves_it_to_the_model(self, agent: ScriptedAgent) -> None:
        await agent.run(call("poll"), text("Done."))
        assert all(request.tool_choice is None for request in agent.server.requests)
        assert all(request.tools for request in agent.server.requests)

    async def test_required_asks_for_a_call(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(call("poll"), DONE, tool_choice="required")
        assert outcome.stop_reason == "terminated"
        assert [request.tool_choice for request in agent.server.requests] == ["required"] * 2

    async def test_required_asks_again_twice(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(text("Hm."), text("Hm?"), DONE, tool_choice="required")
        assert outcome.stop_reason == "terminated"
        assert outcome.usage["model_calls"] == 3
        assert agent.server.requests[1].last["content"] == prompts.TOOL_REQUIRED
        assert [type(m) for m in await agent.messages()] == [HumanMessage, AIMessage, ToolMessage]

    async def test_required_gives_up_then(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(*[text("Hm.", usage=tokens(10, 1))] * 3, tool_choice="required")
        assert (outcome.status, outcome.stop_reason) == ("error", "error")
        assert "`required`" in outcome.output
        assert outcome.usage["model_calls"] == 3
        assert outcome.usage["input_tokens"] == 30
        assert [type(m) for m in await agent.messages()] == [HumanMessage]

    async def test_required_takes_a_malformed_call_for_a_call(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(call("poll", raw="{"), DONE, tool_choice="required")
        assert outcome.usage["model_calls"] == 2


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
            ["an array, not an object", "[1, 2]"],
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

    async def test_malformed_calls_keep_their_place(self, agent: ScriptedAgent) -> None:
        agent.server.script(
            calls(
                call("append", raw='{"path": "a", "line": "cut o'),
                call("append", path="a", line="1"),
                call("append", raw='{"path": "a", "line": NaN}'),
                call("poll"),
            ),
            text("Done."),
        )
        await agent.run()
        assert agent.lines("a") == ["1"]
        sent = agent.server.requests[1].messages
        asked = next(m for m in sent if m["role"] == "assistant")
        names = [c["function"]["name"] for c in asked["tool_calls"]]
        assert names == ["append", "append", "append", "poll"]
        assert "cut o" in asked["tool_calls"][0]["function"]["arguments"]
        observed = [m["content"] for m in sent if m["role"] == "tool"]
        assert "cannot be read" in observed[0]
        assert observed[1] == "Appended to a."
        assert "NaN" in observed[2]
        assert observed[3] == "1 %"
        message = (await agent.messages())[1]
        assert message.additional_kwargs[MALFORMED_AT] == [0, 2]

    async def test_two_calls_with_one_id(self, agent: ScriptedAgent) -> None:
        twice = calls(
            call("append", path="a", line="1", id="x"), call("append", path="a", line="2", id="x")
        )
        await agent.run(twice, twice, text("Done."))
        assert agent.lines("a") == ["1", "2", "1", "2"]
        assert_paired(await agent.messages())

    @pytest.mark.parametrize("id_", [None, ABSENT, ""])
    async def test_calls_without_an_id(self, agent: ScriptedAgent, id_: Any) -> None:
        outcome = await agent.run(
            calls(call("poll", id=id_), call("poll", id=id_)), call("poll", id=id_), text("Done.")
        )
        assert outcome.stop_reason == "answered"
        assert_paired(await agent.messages())
        assert await agent.observations() == ["1 %", "2 %", "3 %"]

    async def test_calls_that_do_not_touch_the_same_run_side_by_side(
        self, agent: ScriptedAgent
    ) -> None:
        # `hold` ends only when the file is there that the call behind it writes
        outcome = await agent.run(
            calls(call("hold", path="a", line="1"), call("append", path="release", line="1")),
            text("Done."),
        )
        assert outcome.stop_reason == "answered"
        assert await agent.observations() == ["Released.", "Appended to release."]

    async def test_calls_that_touch_the_same_run_in_call_order(self, agent: ScriptedAgent) -> None:
        lines = [str(n) for n in range(8)]
        await agent.run(
            calls(*(call("append", path="a", line=line) for line in lines)), text("Done.")
        )
        assert agent.lines("a") == lines

    async def test_a_long_observation_is_cut_in_the_middle(self, agent: ScriptedAgent) -> None:
        whole = "".join(f"{n:09}\n" for n in range(1000))
        (agent.workspace / "long").write_text(whole)
        await agent.run(call("read", path="long"), text("Done."), max_observe=1000)
        [seen] = await agent.observations()
        assert len(seen) < 1200
        head, _, tail = seen.partition("[…")
        assert whole.startswith(head.rstrip("\n"))
        assert whole.endswith(tail.partition("…]\n")[2])
        assert "9,111 of 10,000 characters left out" in tail
        name = tail.partition("are in ")[2].partition(" ")[0]
        assert (agent.workspace / name).read_text() == whole

    async def test_tools_of_langchain_serve_too(self, agent: ScriptedAgent) -> None:
        @tool
        def double(number: int) -> int:
            """Double a number."""
            return 2 * number

        @tool
        async def sorry(number: int) -> int:
            """Fail."""
            raise LookupError(f"no {number}")

        from dataclasses import replace

        profile = replace(TESTER, tools=(double, sorry))
        other = ScriptedAgent(agent.server, agent.workspace, agent.saver, profile)
        await other.run(
            calls(call("double", number=4), call("double", number="x"), call("sorry", number=1)),
            text("Done."),
        )
        first, second, third = await other.observations()
        assert first == "8"
        assert "number" in second
        assert "no 1" in third


class TestUsage:
    async def test_it_is_what_the_server_says(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(
            calls(call("poll"), call("poll"), usage=tokens(100, 20, cached=64)),
            text("Done.", usage=tokens(150, 10, cached=128)),
        )
        usage = outcome.usage
        assert (usage["input_tokens"], usage["output_tokens"]) == (250, 30)
        assert usage["cached_tokens"] == 192
        assert (usage["model_calls"], usage["tool_calls"]) == (2, 2)
        assert usage["seconds"] > 0
        assert "estimated" not in usage

    async def test_without_it_tokens_are_estimated(self, agent: ScriptedAgent) -> None:
        outcome = await agent.run(call("poll"), text(" ".join(map(str, range(400))), usage=None))
        assert outcome.usage["estimated"] is True
        assert outcome.usage["output_tokens"] > 300
        assert outcome.usage["model_calls"] == 2


class TestSecondRun:
    async def test_it_has_a_fresh_budget(self, agent: ScriptedAgent) -> None:
        polls = [call("poll")] * 3
        first = await agent.run(*polls, max_steps=3)
        second = await agent.run(*polls, request="Go on.", max_steps=3)
        assert first.stop_reason == second.stop_reason == "max_steps"
        assert second.results == [f"Step {n}: poll → {n + 3} %" for n in (1, 2, 3)]
        assert second.usage["model_calls"] == 3
        assert second.usage["tool_calls"] == 3

    async def test_it_sees_the_whole_history(self, agent: ScriptedAgent) -> None:
        await agent.run(call("append", path="a", line="1"), text("One."))
        await agent.run(text("Two."), request="And then?")
        roles = [m["role"] for m in agent.server.requests[-1].messages]
        assert roles == ["system", "user", "assistant", "tool", "assistant", "user", "user"]

    async def test_its_output_is_its_own(self, agent: ScriptedAgent) -> None:
        await agent.run(text("One."))
        outcome = await agent.run(*[call("poll")] * 2, request="And then?", max_steps=2)
        assert "One." not in outcome.output

    async def test_circles_do_not_reach_into_it(self, agent: ScriptedAgent) -> None:
        read = call("read", path="missing")
        await agent.run(read, read, text("No."))
        outcome = await agent.run(read, text("No."), request="And now?")
        assert outcome.stop_reason == "answered"
        assert (await agent.values())["loop"] is None

    async def test_what_came_of_the_first_is_seen_until_it_begins(
        self, agent: ScriptedAgent
    ) -> None:
        await agent.run(fail(401))
        assert (await agent.values())["status"] == "error"
        seen: list[Any] = []

        async def look(_: Any) -> None:
            seen.append((await agent.values())["status"])

        agent.server.script(text("Yes."))
        stream = agent.graph.astream(
            {"request": "Again."},
            {"configurable": {"thread_id": "t"}},
            context=agent.context(),
            stream_mode="custom",
        )
        async for event in stream:
            if event["type"] == "step":
                await look(event)
        assert seen == ["running"]
        values = await agent.values()
        assert (values["status"], values["stop_reason"]) == ("finished", "answered")


class TestEvents:
    async def test_each_change_of_status_is_told(self, agent: ScriptedAgent) -> None:
        events = await agent.events(call("poll"), text("Done."))
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

    async def test_they_say_what_happened(self, agent: ScriptedAgent) -> None:
        events = await agent.events(
            calls(call("read", path="a", id="c1"), text="Let me see.", usage=tokens(9, 3)),
            text("Done."),
            max_steps=5,
        )
        by_type = {event["type"]: event for event in reversed(events)}
        assert (by_type["step"]["step"], by_type["step"]["max_steps"]) == (1, 5)
        thought = by_type["thought"]
        assert thought["text"] == "Let me see."
        assert thought["calls"] == [{"id": "c1", "name": "read", "args": {"path": "a"}}]
        assert (thought["input_tokens"], thought["output_tokens"]) == (9, 3)
        observation = by_type["observation"]
        assert observation["text"] == "There is no file a."
        assert observation["is_error"] is True

    async def test_an_error_is_told(self, agent: ScriptedAgent) -> None:
        events = await agent.events(fail(401))
        assert events[-1] == {"type": "status", "status": "error", "stop_reason": "error"}

    async def test_the_state_holds_the_last_status(self, agent: ScriptedAgent) -> None:
        agent.server.script(call("poll"), text("Done."))
        config: Any = {"configurable": {"thread_id": "t"}}
        stream = agent.graph.astream(
            {"request": "Do it."}, config, context=agent.context(), stream_mode="values"
        )
        seen = [values["status"] async for values in stream]
        assert seen == ["running", "executing", "executing", "thinking", "thinking", "finished"]

    async def test_streamed_words_come_once(self, agent: ScriptedAgent) -> None:
        agent.server.script(calls(call("poll"), text="One two three."), text("Four five six."))
        config: Any = {"configurable": {"thread_id": "t"}}
        stream = agent.graph.astream(
            {"request": "Do it."}, config, context=agent.context(), stream_mode="messages"
        )
        said = [m.text async for m, _ in stream if isinstance(m, AIMessage)]
        assert "".join(said) == "One two three.Four five six."
        assert len(said) > 4


async def test_arguments_of_brackets_without_end_are_said_to_be_wrong(agent: ScriptedAgent) -> None:
    for raw in ("[" * 200_000, '{"path": ' + "[" * 200_000 + "]" * 200_000 + "}"):
        await agent.run(calls(call("append", raw=raw)), text("Gone on."))
        assert (await agent.values())["stop_reason"] == "answered"
    assert len(await agent.observations()) == 2
    assert agent.lines("a") == []
