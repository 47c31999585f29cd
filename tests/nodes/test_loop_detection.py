"""When an agent is stuck in a loop: every rule of the contract's section 4, and what is not a loop.

The cases named after them follow the test suites of OpenHands' `StuckDetector` and gemini-cli's
`loopDetectionService`. Where ours decides differently, the case states the reason.
"""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from manus.calls.result import Image, Observation
from manus.nodes.loop_detection import (
    POLLS,
    call_fingerprint,
    find_loop,
    newest_step,
    next_loop,
    result_fingerprint,
)
from manus.state.agent import MAX_ENTRIES, Loop, TrailEntry, append_entries
from manus.state.messages import CALL_FACTS
from tests.helpers.edits import Edit

Made = tuple[str, Any, Any]
_ids = itertools.count()


def step(*calls: Made, text: str = "", error: bool = False, seconds: float = 0) -> list[AnyMessage]:
    """Return an assistant message with calls (name, arguments, observation), and tool messages."""
    ids = [str(next(_ids)) for _ in calls]
    tool_calls = [
        {"name": name, "args": args, "id": id_, "type": "tool_call"}
        for (name, args, _), id_ in zip(calls, ids, strict=True)
    ]
    status = "error" if error else "success"
    facts = {CALL_FACTS: {"seconds": seconds}}
    answers = [
        ToolMessage(
            observation, tool_call_id=id_, name=name, status=status, additional_kwargs=facts
        )
        for (name, _, observation), id_ in zip(calls, ids, strict=True)
    ]
    return [AIMessage(text, tool_calls=tool_calls), *answers]


def bash(command: str, observation: str = "a b", **arguments: Any) -> list[AnyMessage]:
    return step(("bash", {"command": command}, observation), **arguments)


def fail(command: str, observation: str = "no") -> list[AnyMessage]:
    return bash(command, observation, error=True)


def say(text: str) -> list[AnyMessage]:
    return step(text=text)


def build_trail(steps: Iterable[Sequence[AnyMessage]]) -> tuple[list[TrailEntry], int, str]:
    trail: list[TrailEntry] = []
    newest, outcome = 0, ""
    for number, messages in enumerate(steps, start=1):
        current = newest_step(messages, None, number)
        trail += current.entries
        newest, outcome = len(current.entries), current.result
    return trail, newest, outcome


def kind_in(*steps: list[AnyMessage], threshold: int = 2) -> str | None:
    loop = find_loop(*build_trail(steps), threshold)
    return loop.kind if loop is not None else None


LS = bash("ls")
VIEW = step(("str_replace_editor", {"command": "view", "path": "a"}, "text of a"))
EDITS = [step(("str_replace_editor", {"new_str": f"{n}"}, "edited")) for n in range(4)]
PYTEST = bash("pytest", "1 failed in 0.12s", error=True)
PAGE = {"action": "click_element", "index": 3}


def click(page: str, **options: Any) -> list[AnyMessage]:
    """Return a browser action with a constant sentence; what counts is the page after it."""
    id_ = str(next(_ids))
    tool_call = [{"name": "browser_use", "args": PAGE, "id": id_, "type": "tool_call"}]
    answer = ToolMessage("Clicked element 3.", tool_call_id=id_, name="browser_use")
    facts = {"fingerprint": result_fingerprint(answer, page), "seconds": 0.3, **options}
    answer.additional_kwargs[CALL_FACTS] = facts
    return [AIMessage("", tool_calls=tool_call), answer]


def malformed() -> list[AnyMessage]:
    id_ = str(next(_ids))
    bad = {"name": "bash", "args": "{", "id": id_, "error": None, "type": "invalid_tool_call"}
    message = AIMessage("", invalid_tool_calls=[bad])
    return [message, ToolMessage("Not JSON.", tool_call_id=id_, status="error")]


def shot(data: str) -> list[AnyMessage]:
    return step(("shot", {}, Observation("page", (Image(data),)).content()))


CASES: dict[str, tuple[list[list[AnyMessage]], str | None]] = {
    # the same call with the same observation
    "three times": ([LS] * 3, "call"),
    "with known ones between": ([LS, bash("pwd"), LS, bash("pwd"), LS], "cycle"),
    "arguments that are no JSON": ([malformed() for _ in range(3)], "call"),
    "pictures that are the same": ([shot("aa")] * 3, "call"),
    "pictures that differ": ([shot("aa"), shot("bb"), shot("cc")], None),
    "an error and a result of the same words": ([LS, bash("ls", error=True), LS], None),
    # ignored by a fingerprint
    "blanks": ([bash("ls -l"), bash("ls   -l "), bash(" ls -l")], "call"),
    "letter case": ([bash("ls"), bash("ls"), step(("BASH", {"command": "ls"}, "a b"))], "call"),
    "case of a query": (
        [step(("web_search", {"query": q}, "-")) for q in ("Ab", "ab")] * 2,
        "call",
    ),
    "2>&1": ([bash("make 2>&1"), bash("make"), bash("make  2>&1")], "call"),
    "keys": ([step(("f", a, "x")) for a in ({"a": 1, "b": 2}, {"b": 2, "a": 1})] * 2, "call"),
    "a clock time": ([bash("date", f"Sun Nov 22 15:10:0{n} UTC 2026") for n in range(3)], "call"),
    "a duration": ([fail("pytest", f"1 failed in 0.1{n}s") for n in range(3)], "call"),
    "a process id": ([bash("run &", f"started, pid {n}") for n in range(100, 103)], "call"),
    "an address": ([fail("x", f"<object at 0x7f{n}a>") for n in range(3)], "call"),
    # not ignored
    "another number": ([bash("make", f"building {8 * n} %") for n in range(6)], None),
    "a line number that moves": ([fail("py", f"a.py:{n}:05: bad") for n in range(6)], None),
    "indentation of what is written": (
        [step(("f", {"old_str": " " * n + "x"}, "not found"), error=True) for n in range(4)],
        None,
    ),
    "a shell's quotes": ([bash(c) for c in ("rm 'a b'", "rm a b", "rm 'a' b")], None),
    # cycles
    "a cycle of two": ([bash("a"), bash("b")] * 3, "cycle"),
    "a cycle of five": ([bash(c) for c in "abcde"] * 3, "cycle"),
    "a cycle twice over": ([bash(c) for c in "abc"] * 2, None),
    "a cycle in which something changes": (
        [s for n in range(4) for s in (bash("edit", "ok"), bash("test", f"{n} failed"))],
        None,
    ),
    # texts
    "a text with others between": ([say(t) for t in ("A.", "B.", " A.\n", "C.", "A.")], "text"),
    "a phrase before different calls": ([bash(f"{n}", text="Look.") for n in range(6)], None),
    "three empty replies": ([say(" \n")] * 3, "silence"),
    "empty replies not in a row": ([say(""), say(""), say("Hm."), say("")], None),
    # not loops
    "a list of items": ([step(("read", {"n": n}, "same")) for n in range(20)], None),
    "a view after each edit": ([s for e in EDITS for s in (VIEW, e)] + [VIEW], None),
    "a failing test between edits": ([PYTEST, EDITS[0], PYTEST, EDITS[1], PYTEST], None),
    "and failing edits": ([PYTEST, fail("sed 1"), PYTEST, fail("sed 2"), PYTEST], "cycle"),
    # the browser: the page after the action counts
    "next month": ([click(f"month {n}") for n in range(10)], None),
    "a page that stays": ([click("same")] * 3, "call"),
    "a carousel that comes round": ([click(f"slide {n % 3}") for n in range(10)], None),
    "edits to and fro": (
        [s for n in (0, 1) for s in (EDITS[n], bash("pytest", f"{n} failed"))] * 3,
        "cycle",
    ),
    # waiting
    "a slow call": ([bash("curl", "refused", error=True, seconds=2.1)] * 3, "polling"),
    "a wait between": ([bash("sleep 5", "", seconds=5), bash("curl", "no")] * 3, "polling"),
    "a slow poll that changes": ([bash("p", f"{n} %", seconds=5) for n in range(20)], None),
    "a step that begins with something new": (
        [LS, step(("bash", {"command": "new"}, "new"), *[("bash", {"command": "ls"}, "a b")] * 2)],
        None,
    ),
}


def test_the_table() -> None:
    kinds = {name: kind_in(*steps) for name, (steps, _) in CASES.items()}
    assert kinds == {name: kind for name, (_, kind) in CASES.items()}


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"command": "str_replace", "path": "f", "old_str": old, "new_str": new}


APPEND = {"command": "insert", "path": "f", "insert_line": 1, "new_str": "x"}
EDIT_LOOPS: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "a file that grows": ([APPEND] * 3, None),
    "the same edit to and fro": ([_replace("two", "2"), _replace("2", "two")] * 3, "cycle"),
    "different edits of one line": ([_replace(f"{n}", f"{n + 1}") for n in range(6)], None),
    "an edit that fails": ([_replace("missing", "x")] * 3, "call"),
    "an edit with other indentation": ([_replace("   one\nzero", "z"), APPEND] * 2, None),
}


@pytest.mark.parametrize("name", EDIT_LOOPS)
async def test_edits_are_compared_by_what_they_change(edit: Edit, root: Path, name: str) -> None:
    """Although the observation of an exact edit contains only its lines."""
    calls, expected = EDIT_LOOPS[name]
    (root / "f").write_text("one\ntwo\nthree\n0\nfive\n")
    steps = []
    for args in calls:
        observation = await edit(**args)
        messages = step(("str_replace_editor", args, observation.text), error=observation.is_error)
        if observation.fingerprint is not None:
            answer = messages[-1]
            assert isinstance(answer, ToolMessage)
            fingerprint = result_fingerprint(answer, observation.fingerprint)
            answer.additional_kwargs[CALL_FACTS]["fingerprint"] = fingerprint
        steps.append(messages)
    assert kind_in(*steps) == expected


def test_the_threshold_counts_the_earlier_texts(subtests: pytest.Subtests) -> None:
    for threshold in (1, 2, 5):
        with subtests.test(threshold=threshold):
            assert kind_in(*[say("So.")] * threshold, threshold=threshold) is None
            assert kind_in(*[say("So.")] * (threshold + 1), threshold=threshold) == "text"


def test_a_finding_names_every_call_of_a_cycle_and_one_result() -> None:
    cycle, single = (find_loop(*build_trail(s)) for s in ([bash(c) for c in "abc"] * 3, [LS] * 3))
    assert cycle is not None
    assert all(f"'command': '{c}'" in cycle.description for c in "abc")
    assert set(cycle.calls) == {call_fingerprint("bash", {"command": c}) for c in "abc"}
    assert single is not None
    assert all(word in single.description for word in ("`bash`", "ls", "3 times", "a b"))


def measures(steps: Iterable[list[AnyMessage]]) -> list[str]:
    """Return the measure after each step of a run; calls of a step are refused as in `act`."""
    trail: list[TrailEntry] = []
    loop: Loop | None = None
    measures_taken: list[str] = []
    for number, messages in enumerate(steps, start=1):
        current = newest_step(messages, loop, number)
        trail += current.entries
        finding = find_loop(trail, len(current.entries), current.result)
        loop = next_loop(loop, finding, current, number)
        measures_taken.append(loop["measure"] if loop is not None else "")
    return measures_taken


REFUSALS = ["hint", "refuse", "refuse"]


MEASURED: dict[str, tuple[list[list[AnyMessage]], list[str]]] = {
    "one call, refused once first": ([LS] * 6, ["", "", *REFUSALS, "ask"]),
    "a cycle: each of its calls is refused before anything ends": (
        [bash(c) for c in "abcabcabcabc"],
        [""] * 6 + ["hint"] + ["refuse"] * 4 + ["ask"],
    ),
    "a cycle of which only one call is insisted on": (
        [*[bash(c) for c in "abcabcab"], *[bash("c")] * 3],
        [""] * 6 + ["hint"] + ["refuse"] * 3 + ["ask"],
    ),
    "another way": ([LS] * 3 + [bash("new")], ["", "", "hint", ""]),
    "and back": ([LS] * 5 + [bash("new"), LS], ["", "", *REFUSALS, "", ""]),
    "half is new": ([step(("a", {}, "1"), ("b", {}, str(n))) for n in range(4)], [""] * 4),
    "half before": ([step(("b", {}, str(n)), ("a", {}, "1")) for n in range(4)], [""] * 4),
    "nothing to refuse": ([say("A.")] * 4, ["", "", "hint", "ask"]),
    "a poll is never refused, and ends at the twentieth": (
        [bash("p", seconds=3)] * (POLLS + 1),
        ["", "", *["hint"] * (POLLS - 3), "ask", "ask"],
    ),
    "a poll that succeeds": (
        [bash("p", seconds=3)] * 5 + [bash("p", "done", seconds=3)],
        ["", "", "hint", "hint", "hint", ""],
    ),
}


def test_one_measure_at_a_time(subtests: pytest.Subtests) -> None:
    for name, (steps, measured) in MEASURED.items():
        with subtests.test(name=name, steps=steps):
            assert measures(steps) == measured, name


def test_calls_that_repeat_with_a_loop_are_refused_with_it() -> None:
    twice = step(*[("bash", {"command": "b"}, "a b")] * 2)
    steps = [bash("a"), bash("b"), bash("a"), bash("a")]
    trail, _, _ = build_trail(steps)
    before = next_loop(None, find_loop(trail, 1), newest_step(steps[-1], None, 4), 4)
    trail, newest, outcome = build_trail([*steps, twice])
    finding = find_loop(trail, newest, outcome)
    loop = next_loop(before, finding, newest_step(twice, before, 5), 5)
    assert loop is not None
    assert loop["measure"] == "refuse"
    assert loop["calls"] == [call_fingerprint("bash", {"command": c}) for c in "ab"]


_CALL = st.tuples(st.sampled_from(["read", "edit"]), st.integers(0, 2), st.sampled_from("xy"))


@given(st.lists(st.lists(_CALL, max_size=2), max_size=12))
def test_new_calls_are_never_a_loop(run: list[list[tuple[str, int, str]]]) -> None:
    steps = [
        step(*((name, {"n": n}, observation) for name, n, observation in calls)) for calls in run
    ]
    assert kind_in(*steps, bash("never before", "never seen")) is None


def test_the_trail_keeps_the_newest_calls() -> None:
    trail, *_ = build_trail(bash(f"ls {n}") for n in range(MAX_ENTRIES + 2))
    entries = append_entries(append_entries([], [trail[:-1]]), [trail[-1:]])
    assert entries == trail[2:]


def test_a_result_is_told_apart_by_its_images_its_error_and_the_state_of_the_page() -> None:
    def result(content: Any, status: Any = "success") -> ToolMessage:
        return ToolMessage(content, tool_call_id="c", status=status)

    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    other = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AB=="}}
    texts = [[{"type": "text", "text": "Seen."}, block] for block in (picture, other)]
    assert result_fingerprint(result(texts[0])) != result_fingerprint(result(texts[1]))
    page = "Title: Mine"
    assert result_fingerprint(result("Clicked."), page) == result_fingerprint(
        result("Typed."), page
    )
    failed = [result_fingerprint(result(text, "error"), page) for text in ("Gone.", "Hidden.")]
    assert failed[0] != failed[1]
    assert failed[0] != result_fingerprint(result("Gone."), page)
