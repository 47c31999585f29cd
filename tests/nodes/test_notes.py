"""Notes are only taken over as far as their sources bear them out."""

from __future__ import annotations

import pytest

from manus.nodes.context.instructions import quoted, still_held
from manus.nodes.context.notes import Sources, bare_lines, bounded, checked_lines, cited_in
from manus.nodes.context.numbers import numbers_held, numbers_in
from manus.prompts.compaction import older_left_out

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
    assert bare_lines([(1, 1, "共有三百…")]) == ["- 共有… [#1]"]
    steps = [(1, 2, "bash → took 12,34…"), (3, 3, "said 5"), (4, 5, ""), (6, 8, "no number…")]
    assert bare_lines(steps) == [
        "- bash → took … [#1-#2]",
        "- said 5 [#3]",
        "- no number… [#6-#8]",
    ]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,234.50 and 007 and 1.2.3", {"1234.5", "7", "1.2.3"}),
        ("1,234", {"1234"}),
        ("1.234", {"1.234"}),
        ("1'234, 1\u202f234 and 1_234", {"1234"}),
        ("12% and 12 % and 12 percent and 百分之十二", {"12%"}),
        ("12", {"12"}),
        ("½, 1½, 0.75 and ⅓", {"0.5", "1.5", "0.75", "1/3"}),
        ("3 million, 3M and 三百万", {"3000000"}),
        ("2.5k, 3万 and 1.5亿", {"2500", "30000", "150000000"}),
        ("三百二十 and 二〇二六 and 十二个 and 三点五", {"320", "2026", "12", "3.5"}),
        ("统一, 万一, 第一, 十分, 两三个", set()),
        ("① and Ⅷ and ٩٩ and ９９", {"1", "8", "99"}),
        ("4 m² of 10²", {"4", "10", "2"}),
        ("1" * 60 + "2", {"1" * 60 + "2"}),
    ],
)
def test_numbers_have_one_form(text: str, numbers: set[str]) -> None:
    assert numbers_in(text) == numbers
    assert numbers <= numbers_held(text)


@pytest.mark.parametrize(
    ("source", "said", "kept"),
    [
        ("12 files", "12% of the files", False),
        ("12 % of the files", "12 of 100", False),
        ("12 % of 100 files", "12 of 100", True),
        ("It took 1/2 hour", "It took ½ hour", True),
        ("It took 2 hours", "It took ½ hour", False),
        ("It took 2 hours", "It took 2½ hours", False),
        ("3 files", "3 million files", False),
        ("3,000,000 files", "3 million files", True),
        ("1.234 s", "1,234 s", False),
        ("there are 300", "共有三百个", True),
        ("there are 300", "共有三百二十个", False),
        ("there are 3", "共有三千个", False),
        ("id " + "7" * 40 + "1", "id " + "7" * 40 + "2", False),
    ],
)
def test_a_number_in_another_form_is_the_same_or_another_number(
    source: str, said: str, kept: bool
) -> None:
    sources = Sources()
    sources.add(1, source)
    assert bool(checked_lines(f"- {said} [#1]", sources, [1])) is kept


def test_the_newest_notes_have_room() -> None:
    lines = [f"- {n}" for n in range(10)]
    assert bounded(lines, 100) == lines
    assert bounded(lines, 8) == [older_left_out(8), "- 8", "- 9"]


def test_instructions_are_quotes() -> None:
    said = "Build it.\nNever touch\n  main. Answer in French."
    reply = '- "Never touch main."\nAnswer in French.\nBe kind.\nAnswer in French.\nNONE'
    assert quoted(reply, said) == ["Never touch main.", "Answer in French."]


def test_an_answer_that_there_is_none_is_no_instruction() -> None:
    assert quoted("NONE", "Say NONE if there are none.") == []


KNOWN = ["Answer in French.", "never touch main", "始终用中文回答"]


@pytest.mark.parametrize(
    ("reply", "said", "held"),
    [
        ("NONE", "Go on.", KNOWN),
        ("TAKEN BACK: Answer in French | English is fine", "English is fine now.", KNOWN[1:]),
        ('- TAKEN BACK: "Answer in French." | "English is fine"', "English is\nfine.", KNOWN[1:]),
        ("TAKEN BACK：始终用中文回答 | 不用再说中文", "不用再\n说中文了。", KNOWN[:2]),
        (
            "Answer in German.\nTAKEN BACK: Answer in French. | Answer in German",
            "Answer in German.",
            [*KNOWN[1:], "Answer in German."],
        ),
        # what the user did not say takes nothing back, nor does what nobody had said
        ("TAKEN BACK: never touch main | You may touch main.", "Go on.", KNOWN),
        ("TAKEN BACK: never touch main", "Go on.", KNOWN),
        ("TAKEN BACK: never", "never", KNOWN),
        ("TAKEN BACK: be kind | Go on", "Go on.", KNOWN),
    ],
)
def test_instructions_hold_until_they_are_taken_back(
    reply: str, said: str, held: list[str]
) -> None:
    assert still_held(KNOWN, reply, said) == held
