"""The parts of think: where a run begins, how a history is mended, how a reply is made ready."""

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from manus.nodes.context.turns import mend, replacing
from manus.prompts import agent as prompts
from manus.state.messages import append_messages
from tests.helpers.agent import assert_paired


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


def test_each_call_gets_its_message() -> None:
    for history in LACKING:
        mended = mend(history, nothing_known)
        assert append_messages(history, [replacing(history, mended)]) == mended
        assert_paired(mended)
        assert [m for m in mended if m in history] == history
        lost = [m for m in mended if m not in history]
        assert {m.text for m in lost} == {prompts.OUTCOME_LOST}
        assert all(isinstance(m, ToolMessage) and m.status == "error" for m in lost)
    whole: list[AnyMessage] = [USER, asks("1"), answer("1"), AIMessage("Done."), AGAIN]
    assert mend(whole, nothing_known) is whole


def test_an_answer_goes_behind_its_call_and_one_to_no_call_is_taken_out() -> None:
    call = asks("1")
    history: list[AnyMessage] = [USER, call, AGAIN, answer("1"), answer("0")]
    mended = mend(history, nothing_known)
    assert mended == [USER, call, answer("1"), AGAIN]
    assert append_messages(history, [replacing(history, mended)]) == mended
    # what the journal knows is the answer
    mended = mend([USER, asks("1", "2", "3"), AGAIN], {"2": answer("2")}.get)
    lost = prompts.OUTCOME_LOST
    assert [m.text for m in mended[2:5]] == [lost, "answer to 2", lost]
