"""The agent graph end to end, on a scripted model server; tables for its routers."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from manus.graph.routing import route_after_stuck_check, route_after_think
from manus.nodes.loop_detection import call_fingerprint
from manus.prompts import agent as prompts
from manus.state.agent import AgentState, Loop, ToolTask
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

        # it can also be an ordinary step
        options: Any = {"text_reply": "continue", "thread": "continued"}
        outcome = await agent.run(text("First I think."), DONE, **options)
        assert outcome.stop_reason == "terminated"
        assert outcome.results == [
            "Step 1: First I think.",
            "Step 2: terminate → The run ends with success.",
        ]

    async def test_terminate(self, agent: ScriptedAgent, subtests: pytest.Subtests) -> None:
        for status, success in (("success", True), ("failure", False)):
            with subtests.test(status=status, success=success):
                ends = call("terminate", status=status)
                outcome = await agent.run(calls(ends, text="That was it."), thread=status)
                assert (outcome.status, outcome.stop_reason) == ("finished", "terminated")
                assert (outcome.success, outcome.output) == (success, "That was it.")
        for name in ("answer", "summary", "result"):
            with subtests.test(name=name):
                ends = call("terminate", status="success", **{name: "Seven euros."})
                outcome = await agent.run(calls(ends, text="I am done."), thread=name)
                assert outcome.output == "Seven euros.", "not the accompanying text"
        assert len(agent.server.requests) == 5

    @pytest.mark.parametrize("silent", [{}, {"answer": " "}, {"answer": None}])
    async def test_terminate_without_an_answer_is_asked_for_one_once(
        self, agent: ScriptedAgent, silent: dict[str, Any]
    ) -> None:
        ends = call("terminate", status="success", **silent)
        outcome = await agent.run(call("poll"), ends, ends)
        assert (outcome.stop_reason, outcome.success) == ("terminated", True)
        assert len(agent.server.requests) == 3
        assert "`answer`" in agent.server.requests[2].messages[-2]["content"]
        _, reminder, accepted = [m for m in await agent.messages() if isinstance(m, ToolMessage)]
        assert (reminder.status, accepted.status) == ("error", "success")
        assert outcome.usage["tool_calls"] == 2, "the first one was not executed"
        last = await agent.run(ends, thread="last", max_steps=1)
        assert (last.stop_reason, last.success) == ("terminated", True), "no step is left to ask in"
        assert last.output

    async def test_terminate_with_wrong_arguments_ends_nothing(self, agent: ScriptedAgent) -> None:
        bad = call("terminate", status="maybe", answer="."), call("terminate", raw='{"status": ')
        outcome = await agent.run(*bad, DONE)
        assert outcome.stop_reason == "terminated"
        statuses = [m.status for m in await agent.messages() if isinstance(m, ToolMessage)]
        assert statuses == ["error", "error", "success"]

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
        """The model is warned when most of it is used; a call beyond it is not executed."""
        writes = [call("append", path="a", line=str(n)) for n in range(6)]
        outcome = await agent.run(*writes, budget=Budget(tool_calls=5))
        assert outcome.stop_reason == "budget"
        assert agent.lines("a") == ["0", "1", "2", "3", "4"]
        warned = ["Most of this run" in r.last["content"] for r in agent.server.requests[:5]]
        assert warned == [False] * 4 + [True]
        assert "tool calls (4 of 5)" in agent.server.requests[4].last["content"]
        step = calls(call("poll"), usage=tokens(100, 10))
        outcome = await agent.run(step, budget=Budget(tokens=100), thread="tokens")
        assert (outcome.status, outcome.stop_reason) == ("idle", "budget")
        assert "Terminated: Budget used up: tokens (110 of 100)" in outcome.output


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
        assert [m.type for m in await agent.messages()] == ["human", "ai", "tool", "ai"]
        outcome = await agent.run(*[text("No.")] * 3, request="Again.", tool_choice="required")
        assert outcome.stop_reason == "error"
        assert "`required`" in outcome.output


class TestCalls:
    MADE = (
        (call("read", path="missing"), ["There is no file missing."]),
        (call("nothing", x=1), ["There is no tool `nothing`", "append", "terminate"]),
        (call("append", path="a"), ["`line`"]),
        (call("append", path="b", line=["1"], colour="red"), ["`colour`", "`line`"]),
        (call("append", raw='{"path": "a", "li'), ["JSON", '{"path": "a", "li']),
        (call("append", raw="[1, 2]"), ["not an object", "[1, 2]"]),
        (call("broken"), ["RuntimeError", "the disk is on fire"]),
        (call("cancelled"), ["cancelled"]),
        (call("slow"), ["timed out after"]),
        (call("append", path="../a", line="1"), ["outside the workspace"]),
        (call("poll", raw=""), ["1 %"]),
    )

    async def test_there_is_one_message_for_each_call(
        self, agent: ScriptedAgent, subtests: pytest.Subtests
    ) -> None:
        """Whatever happens."""
        calls_made = [calls_made for calls_made, _ in self.MADE]
        # `../a` may be any file, so it would not be executed after a failed call on one
        await agent.run(calls(*calls_made[:9]), calls(*calls_made[9:]), text("Done."))
        history = await agent.messages()
        assert_paired(history)
        for observation, (_, words) in zip(await agent.observations(), self.MADE, strict=True):
            with subtests.test(observation=observation, words=words):
                assert all(word in observation for word in words), observation
        errors = [m.status for m in history if isinstance(m, ToolMessage)]
        assert errors == ["error"] * 10 + ["success"]
        assert agent.lines("a") == []

    async def test_calls_without_an_id_or_with_the_same(self, agent: ScriptedAgent) -> None:
        ids: list[Any] = [None, ABSENT, "x"]
        twice = [calls(call("poll", id=call_id), call("poll", id=call_id)) for call_id in ids * 2]
        await agent.run(*twice, text("Done."))
        assert await agent.observations() == [f"{n} %" for n in range(1, 13)]
        assert_paired(await agent.messages())

    async def test_calls_that_do_not_collide_run_concurrently(self, agent: ScriptedAgent) -> None:
        # `hold` ends only once the file exists that the next call writes
        release = call("append", path="release", line="1")
        await agent.run(calls(call("hold", path="a", line="1"), release), text("Done."))
        assert await agent.observations() == ["Released.", "Appended to release."]


async def test_a_second_run_sees_the_history_and_has_its_own_steps(agent: ScriptedAgent) -> None:
    read = call("read", path="missing")
    await agent.run(read, read, text("No."), max_steps=3)
    outcome = await agent.run(read, text("No."), request="And now?", max_steps=2)
    assert outcome.stop_reason == "answered"
    assert [line[:11] for line in outcome.results] == ["Step 1: rea", "Step 2: No."]
    assert (await agent.values())["loop"] is None, "earlier repetitions do not count"
    roles = [m["role"] for m in agent.server.requests[3].messages]
    assert roles == ["system", "user", *["assistant", "tool"] * 2, "assistant", "user", "user"]


class TestEvents:
    async def test_each_change_of_status_is_emitted(self, agent: ScriptedAgent) -> None:
        look = calls(call("read", path="a", id="c1"), text="Let me see.", usage=tokens(9, 3))
        events = await agent.events(look, text("Done."), max_steps=5)
        by_type = {event["type"]: event for event in reversed(events)}
        assert (by_type["step"]["step"], by_type["step"]["max_steps"]) == (1, 5)
        reasoning = by_type["thought"]
        assert reasoning["text"] == "Let me see."
        assert reasoning["calls"] == [{"id": "c1", "name": "read", "args": {"path": "a"}}]
        assert (reasoning["input_tokens"], reasoning["output_tokens"]) == (9, 3)
        observation = by_type["observation"]
        assert observation["text"] == "There is no file a."
        assert observation["is_error"] is True
        emitted = [
            (e["status"], e["stop_reason"]) if e["type"] == "status" else e["type"] for e in events
        ]
        assert emitted == [
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


USER = HumanMessage("Do it.", id="u")


def asks(*names: str, bad: tuple[str, ...] = (), at: tuple[int, ...] = ()) -> AIMessage:
    return AIMessage(
        "",
        tool_calls=[
            {"name": name, "args": {"n": n}, "id": f"c{n}", "type": "tool_call"}
            for n, name in enumerate(names)
        ],
        invalid_tool_calls=[
            {"name": n, "args": "{", "id": f"b{n}", "error": None, "type": "invalid_tool_call"}
            for n in bad
        ],
        additional_kwargs={"malformed_at": list(at)} if at else {},
    )


def after(message: AIMessage, loop: Loop | None = None) -> list[ToolTask]:
    state: AgentState = {"messages": [USER, message], "loop": loop}
    sends = route_after_think(state)
    assert isinstance(sends, list)
    assert [send.node for send in sends] == ["act"] * len(sends)
    return [send.arg for send in sends]


AFTER_THINK: list[tuple[AgentState, str]] = [
    ({"messages": [USER, AIMessage("42")]}, "no_call"),
    ({"messages": [USER, AIMessage("")]}, "no_call"),
    ({"messages": [USER], "stop_reason": "error"}, "error"),
    ({"messages": [USER], "stop_reason": "budget"}, "budget"),
    ({"messages": [USER, asks("bash")], "stop_reason": "error"}, "error"),
]


def test_after_think_and_stuck_check(subtests: pytest.Subtests) -> None:
    assert route_after_stuck_check({"stop_reason": None}) == "next_step"
    for state, label in AFTER_THINK:
        with subtests.test(state=state, label=label):
            assert route_after_think(state) == label


def test_each_call_is_a_task_in_call_order_and_a_malformed_one_is_refused_there() -> None:
    message = asks("bash", "read")
    state: AgentState = {"messages": [USER, message, ToolMessage("x", tool_call_id="c0")]}
    sends = route_after_think(state)
    assert isinstance(sends, list)
    assert [send.arg["id"] for send in sends] == ["c1"]
    state["messages"].append(ToolMessage("y", tool_call_id="c1"))
    assert route_after_think(state) == "no_call", "answered calls are not repeated"
    tasks = after(asks("bash", "read", bad=("edit",), at=(1,)))
    assert [(t["index"], t["id"], t["name"]) for t in tasks] == [
        (0, "c0", "bash"),
        (1, "bedit", "edit"),
        (2, "c1", "read"),
    ]
    assert tasks[2]["args"] == {"n": 1}
    assert [("refusal" in task) for task in tasks] == [False, True, False]
    assert "JSON" in tasks[1]["refusal"]
    # calls after a special one are refused
    tasks = after(asks("Terminate", "bash", "terminate", bad=("edit", "x"), at=(0, 3)))
    first, *refusals = [task.get("refusal") for task in tasks]
    assert first is not None
    assert "JSON" in first, "its own error, not that it follows another one"
    assert refusals == [None, *[prompts.after_special("Terminate")] * 3]


def test_looping_calls_are_refused_after_an_ignored_hint() -> None:
    loop: Loop = {
        "kind": "call",
        "what": "`bash` was called 4 times.",
        "measure": "hint",
        "calls": [call_fingerprint("bash", {"n": 0})],
        "refused": [],
        "since": 4,
    }
    message = asks("Bash", "bash", "read")
    assert not any("refusal" in task for task in after(message, loop))
    loop["measure"] = "refuse"
    first, *rest = after(message, loop)
    assert "4 times" in first["refusal"]
    assert not any("refusal" in task for task in rest)
