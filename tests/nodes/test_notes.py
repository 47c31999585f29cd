"""Notes are only taken over as far as their sources bear them out."""

from __future__ import annotations

import pytest

from nodes.notes import Sources, bare_lines, bounded, checked_lines, cited_in, numbers_in, quoted
from nodes.windows import said_window
from prompts.compaction import older_left_out

MESSAGES = {
    3: "The port is 8080, the price 1,234.50 EUR.",
    4: "version 1.2.3 of 2026-11-21.",
    5: "Nothing.",
}


@pytest.fixture
def sources() -> Sources:
    sources = Sources(["- The door has 9 locks. [#1]", "- It weighs 12 kg. [#1, #2]"])
    for number, text in MESSAGES.items():
        sources.add(number, text)
    return sources


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("- The port is 8080. [#3]", "- The port is 8080. [#3]"),
        ("* The price is 1234.5. [#3, #4]", "- The price is 1234.5. [#3, #4]"),
        ("3. Version 1.2.3 [#3-#5]", "- Version 1.2.3 [#3, #4, #5]"),
        ("- 9 locks at port 8080 [#1; #3]", "- 9 locks at port 8080 [#1, #3]"),
        ("- It weighs 12 kg. [#2]", "- It weighs 12 kg. [#2]"),
        ("- The port is 8080. [#4]", None),
        ("- The door has 9 locks. [#2]", None),
        ("- Nothing to count. [#3] [#99]", "- Nothing to count. [#3]"),
        ("- The port is 8081. [#3]", None),
        ("- The port is 8080.", None),
        ("- The port is 8080. [#99]", None),
        ("- [#3]", None),
        ("Here are the notes:", None),
    ],
)
def test_lines(line: str, kept: str | None, sources: Sources) -> None:
    assert checked_lines(line, sources, range(1, 10)) == ([] if kept is None else [kept])


def test_a_range_stands_for_all_of_it_within_reason() -> None:
    assert cited_in("so [#4-#6, #9] and [12]") == {4, 5, 6, 9}
    assert len(cited_in("[#1-#999999999]")) == 1_001


def test_notes_without_a_model_hold_no_part_of_a_number() -> None:
    steps = [(1, 2, "bash → took 12,34…"), (3, 3, "said 5"), (4, 5, ""), (6, 8, "no number…")]
    assert bare_lines(steps) == [
        "- bash → took … [#1-#2]",
        "- said 5 [#3]",
        "- no number… [#6-#8]",
    ]


def test_numbers_have_one_form() -> None:
    assert numbers_in("1,234.50 and 007 and 1.2.3") == {"1234.5", "7", "1.2.3"}


def test_the_newest_notes_have_room() -> None:
    lines = [f"- {n}" for n in range(10)]
    assert bounded(lines, 100) == lines
    assert bounded(lines, 8) == [older_left_out(8), "- 8", "- 9"]


def test_instructions_are_quotes() -> None:
    said = "Build it.\nNever touch\n  main. Answer in French."
    reply = '- "Never touch main."\nAnswer in French.\nBe kind.\nAnswer in French.\nNONE'
    assert quoted(reply, said) == ["Never touch main.", "Answer in French."]


@pytest.mark.parametrize(
    ("said", "window"),
    [
        ("This model's maximum context length is 128000 tokens. However, …", 128_000),
        ("exceeds the available context size (8,192 tokens)", 8_192),
        ("the request is too large", None),
    ],
)
def test_the_window_that_a_server_names(said: str, window: int | None) -> None:
    assert said_window(said) == window
