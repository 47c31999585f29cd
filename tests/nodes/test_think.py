"""The parts of think: where a run begins, how a history is mended, how a reply is made ready."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)

from manus.nodes.think import goes_on
from manus.nodes.turn.history_repair import mend, replacing
from manus.nodes.turn.reply import prepared
from manus.nodes.turn.stop_conditions import Facts, output_of, results_of
from manus.prompts import agent as prompts
from manus.state.agent import Run, StopReason
from manus.state.messages import MALFORMED_AT, append_messages
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.server import text

RUN = Run(id="r", request_id="u1", step=2, max_steps=20, workspace="/somewhere", profile="tester")


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


class TestGoingOn:
    @pytest.mark.parametrize(
        ("request_id", "stop_reason", "expected"),
        [
            ("u1", None, True),
            ("u1", "answered", False),
            ("u1", "error", False),
            ("u2", None, False),
            ("u2", "answered", False),
            (None, None, False),
        ],
    )
    def test_a_run_goes_on_until_it_ends_or_another_request_comes(
        self, request_id: str | None, stop_reason: StopReason | None, expected: bool
    ) -> None:
        request = HumanMessage("Do it.", id=request_id) if request_id else None
        assert goes_on(RUN, request, stop_reason) is expected

    def test_the_answer_of_a_person_belongs_to_the_run(self) -> None:
        guided: Run = {**RUN, "guidance_id": "g1"}
        assert goes_on(guided, HumanMessage("Go on.", id="g1"), None)
        assert not goes_on(guided, HumanMessage("Go on.", id="g1"), "answered")
        assert not goes_on(guided, HumanMessage("Go on.", id="g2"), None)


USER, AGAIN = HumanMessage("Do it.", id="u1"), HumanMessage("Again.", id="u2")


def nothing_known(_: str) -> None:
    return None


class TestMending:
    def test_a_whole_history_is_left_alone(self) -> None:
        whole: list[AnyMessage] = [USER, asks("1"), answer("1"), AIMessage("Done."), AGAIN]
        assert mend(whole, nothing_known) is None
        assert mend([], nothing_known) is None

    @pytest.mark.parametrize(
        "history",
        [
            [USER, asks("1"), AGAIN],
            [USER, asks("1", "2"), answer("1"), AGAIN],
            [USER, asks("1", "2"), answer("2"), AGAIN],
            [USER, asks("1", bad=("2",)), AGAIN],
            [USER, asks("1"), AGAIN, asks("2", id="a2"), answer("2"), asks("3", id="a3"), USER],
            [USER, asks("1")],
            [USER, asks("1", "2"), answer("2")],
            [asks("1"), asks("2", id="a2"), AGAIN],
        ],
    )
    def test_each_call_gets_its_message(self, history: list[AnyMessage]) -> None:
        mended = mend(history, nothing_known)
        assert mended is not None
        assert_paired(mended)
        assert [m for m in mended if m in history] == history
        lost = [m for m in mended if m not in history]
        assert {m.text for m in lost} == {prompts.OUTCOME_LOST}
        assert all(isinstance(m, ToolMessage) and m.status == "error" for m in lost)

    def test_what_the_journal_knows_is_the_answer(self) -> None:
        known = {"2": answer("2")}
        mended = mend([USER, asks("1", "2", "3"), AGAIN], known.get)
        assert mended is not None
        assert [m.text for m in mended[2:5]] == [
            prompts.OUTCOME_LOST,
            "answer to 2",
            prompts.OUTCOME_LOST,
        ]

    @pytest.mark.parametrize(
        "history",
        [
            [USER, asks("1"), AGAIN],
            [USER, asks("1")],
            [USER, asks("1"), AGAIN, asks("2", id="a2")],
            [USER, asks("1"), answer("1"), answer("0")],
        ],
    )
    def test_the_writes_turn_one_history_into_the_other(self, history: list[AnyMessage]) -> None:
        mended = mend(history, nothing_known)
        assert mended is not None
        writes = replacing(history, mended)
        assert append_messages(history, [writes]) == mended

    def test_only_the_tail_is_written_anew(self) -> None:
        history: list[AnyMessage] = [USER, asks("1"), AGAIN]
        writes = replacing(history, mend(history, nothing_known))
        assert [type(w) for w in writes] == [RemoveMessage, ToolMessage, HumanMessage]
        assert replacing(history, None) == []

    async def test_a_thread_with_a_call_that_never_began_goes_on(
        self, agent: ScriptedAgent
    ) -> None:
        """A state in which a person has put a call that nobody carried out."""
        await agent.run(text("Hello."))
        config: Any = {"configurable": {"thread_id": "t"}}
        await agent.graph.aupdate_state(config, {"messages": [asks("lost")]}, as_node="stuck_check")
        outcome = await agent.run(text("All right."), request="And now?")
        assert outcome.output == "All right."
        assert_paired(await agent.messages())


class TestReplies:
    def test_calls_get_ids_that_nobody_has(self) -> None:
        history: list[AnyMessage] = [USER, asks("1"), answer("1")]
        message = prepared(asks("1", "", "2", "2", bad=("2",)), history, RUN, "auto")
        ids = [c["id"] for c in (*message.tool_calls, *message.invalid_tool_calls)]
        assert ids == ["r-2-0", "r-2-1", "2", "r-2-3", "r-2-4"]

    @pytest.mark.parametrize(
        ("given", "expected"), [("lc_run--1", "lc_run--1"), (None, "r-2"), ("a1", "r-2")]
    )
    def test_the_id_of_the_message_is_its_own(self, given: str | None, expected: str) -> None:
        reply = AIMessage("Done.", id=given)
        assert prepared(reply, [USER, asks("1")], RUN, "auto").id == expected

    def test_only_what_is_worth_it_is_kept(self) -> None:
        reply = AIMessage(
            "Done.",
            response_metadata={"finish_reason": "stop", "model_name": "m", "logprobs": None},
            additional_kwargs={"refusal": None, MALFORMED_AT: []},
        )
        message = prepared(reply, [], RUN, "auto")
        assert message.response_metadata == {"finish_reason": "stop", "model_name": "m"}
        assert message.additional_kwargs == {MALFORMED_AT: []}

    def test_calls_of_a_run_without_tools_are_dropped(self) -> None:
        reply = asks("1", bad=("2",))
        reply.content = [{"type": "text", "text": "Let me."}]
        reply.additional_kwargs[MALFORMED_AT] = [0]
        message = prepared(reply, [], RUN, "none")
        assert (message.content, message.tool_calls, message.invalid_tool_calls) == (
            "Let me.",
            [],
            [],
        )
        assert message.additional_kwargs == {}


HISTORY: list[AnyMessage] = [
    AIMessage("Let me look.", tool_calls=asks("1", "2").tool_calls),
    ToolMessage("\n  two files\na\nb", tool_call_id="1", name="bash"),
    ToolMessage("", tool_call_id="2", name="read"),
    AIMessage("\n\nI have it.\nIt is 42."),
    AIMessage(""),
    AIMessage("x" * 500),
]


class TestResults:
    def test_one_line_a_step(self) -> None:
        lines = results_of(HISTORY)
        assert lines[:3] == [
            "Step 1: bash → two files; read → ",
            "Step 2: I have it.",
            "Step 3: (nothing said)",
        ]
        assert len(lines[3]) < 220
        assert lines[3].endswith("…")

    @pytest.mark.parametrize(
        ("count", "reason", "output"),
        [
            (4, "answered", "I have it.\nIt is 42."),
            (5, "terminated", "I have it.\nIt is 42."),
            (3, "terminated", "Let me look."),
            (3, "max_steps", "Let me look.\n\nTerminated: Reached max steps (20)"),
            (3, "budget", "Let me look.\n\nTerminated: Budget used up: tokens (9 of 8)"),
            (0, "max_steps", "Terminated: Reached max steps (20)"),
        ],
    )
    def test_the_final_text(self, count: int, reason: StopReason, output: str) -> None:
        known = Facts(
            special=None,
            message=None,
            text_ends=True,
            step=20,
            max_steps=20,
            budget="tokens (9 of 8)",
            stuck=False,
        )
        assert output_of(HISTORY[:count], reason, known) == output
