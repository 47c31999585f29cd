import re

from hypothesis import given
from hypothesis import strategies as st

from manus.formatting import clean

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


CLEANED = {
    "\x1b[31mred\x1b[0m": "red",
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
    "10 %\r20 %\r\n": "10 %\n20 %\n",
    "[bold]no markup[/bold]": "[bold]no markup[/bold]",
}
_nasty = st.text(st.sampled_from("ab1;[]mJ\\P(\x1b\x07\x9b\x9c\r\n\x00\u202e\ud83d"), max_size=30)


@given(_nasty)
def test_nothing_that_is_cleaned_holds_a_control_character(text: str) -> None:
    assert not _CONTROL.search(clean(text))
    assert {said: clean(said) for said in CLEANED} == CLEANED
