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
        (["a=b"], {FIRST.id: "a=b"}),
    ],
)
def test_answers_find_their_questions(texts: list[str], wanted: dict[str, str]) -> None:
    assert match_answers(texts, [FIRST, SECOND], "t") == wanted


def test_more_answers_than_questions() -> None:
    with pytest.raises(UsageError, match=r"open questions \(1\)"):
        match_answers(["a", "b"], [FIRST], "t")
