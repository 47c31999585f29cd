import pytest
from langgraph.types import Interrupt

from manus.questions import match_answers
from manus.state.errors import UsageError

FIRST = Interrupt({"question": "Which?"}, id="aaaa1111bbbb")
SECOND = Interrupt({"question": "When?"}, id="aaaa2222bbbb")


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["blue"], {FIRST.id: "blue"}),
        (["blue", "now"], {FIRST.id: "blue", SECOND.id: "now"}),
        (["aaaa2222=now"], {SECOND.id: "now"}),
        (["aaaa2222bbbb=x=y", "blue"], {SECOND.id: "x=y", FIRST.id: "blue"}),
        (["a=b"], {FIRST.id: "a=b"}),
        (["aaaa1111=bbbb2222=c"], {FIRST.id: "bbbb2222=c"}),
    ],
)
def test_answers_find_their_questions(texts: list[str], wanted: dict[str, str]) -> None:
    assert match_answers(texts, [FIRST, SECOND], "t") == wanted


@pytest.mark.parametrize(
    ("texts", "said"),
    [(["a", "b"], r"open questions \(1\)"), (["aaaa2222=now"], r"aaaa2222; .*aaaa1111")],
)
def test_an_answer_to_no_question(texts: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        match_answers(texts, [FIRST], "t")
