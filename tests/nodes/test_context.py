"""How a history is fitted into a request: estimates, truncation, compaction, notes."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from manus.config.model_settings import ModelSettings
from manus.models.chat_models import build_model
from manus.models.tokens import calibrate, estimate_message, estimate_text, get_window, learn_window
from manus.nodes.compaction import (
    compaction_limit,
    existing_notes,
    next_size,
    replace_with_notes,
    select_evicted,
)
from manus.nodes.history_notes import format_notes, parse_notes, truncate_notes
from manus.nodes.truncation import ContextWindow, RenderedHistory, fit_messages
from manus.nodes.turns import SUMMARY, replacement_writes
from manus.state.agent import Compaction
from manus.state.errors import ContextOverflowError
from manus.state.history import append_messages
from manus.workspace.workspace import Workspace
from tests.helpers.agent import assert_paired
from tests.helpers.tools import RED_DOT

ROOM = 4_000.0
FOX = "The quick brown fox jumps over the lazy dog.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def asks(number: int, **args: Any) -> AIMessage:
    call = {"name": "read", "args": args, "id": f"c{number}", "type": "tool_call"}
    return AIMessage("", id=f"a{number}", tool_calls=[call])


def answer(number: int, text: str = "text") -> ToolMessage:
    return ToolMessage(text, tool_call_id=f"c{number}", name="read", id=f"t{number}")


def read_full_text(text: str, workspace: Workspace) -> str:
    note = re.search(r"all [\d,]+ are in (\S+) …\]", text)
    assert note is not None
    return (workspace.root / note[1]).read_text()


class TestTruncation:
    async def test_a_large_result_keeps_its_ends_and_a_file(self, workspace: Workspace) -> None:
        text = "first\n" + FOX * 2_000 + "last"
        history: list[AnyMessage] = [HumanMessage("Do."), asks(1), answer(1, text)]
        messages = await fit_messages(history, ROOM, workspace)
        excerpt = str(messages[2].text)
        assert excerpt.startswith("first")
        assert excerpt.endswith("last")
        assert read_full_text(excerpt, workspace) == text
        assert history[2].text == text, "the history keeps it"
        rendered = RenderedHistory(workspace)
        window = ContextWindow(size=0, around=0, room=ROOM, factor=1, full=0, vision=True)
        first = await rendered.render(history, window)
        again = await rendered.render([*history, asks(2)], window)
        assert again[2] is first[2], "it is sent as in the previous request"
        assert len(await rendered.render(history[:2], window)) == 2

    async def test_many_results_share_the_space_of_a_turn(self, workspace: Workspace) -> None:
        calls = [{"name": "read", "args": {}, "id": f"c{n}", "type": "tool_call"} for n in range(9)]
        results = [answer(n, FOX * 300) for n in range(8)]
        turn: list[AnyMessage] = [AIMessage("", tool_calls=calls), *results, answer(8, "short")]
        messages = await fit_messages(turn, ROOM, workspace)
        assert sum(map(estimate_message, messages)) < 0.5 * ROOM
        assert messages[-1].text == "short"

    async def test_arguments_stay_json(
        self, workspace: Workspace, subtests: pytest.Subtests
    ) -> None:
        for arguments in ({"text": FOX * 2_000}, {"deep": {"b": [FOX * 900, 1]}}):
            with subtests.test(arguments=arguments):
                [message, _] = await fit_messages(
                    [asks(1, path="a", **arguments), answer(1)], ROOM, workspace
                )
                assert isinstance(message, AIMessage)
                [args] = [call["args"] for call in message.tool_calls]
                assert args["path"] == "a"
                assert len(str(args)) / 4 < 0.3 * ROOM
                assert set(args) == {"path", *arguments}

    async def test_the_users_oldest_large_messages_are_truncated(
        self, workspace: Workspace
    ) -> None:
        history = [HumanMessage(f"{n} " + FOX * 100, id=str(n)) for n in range(6)]
        messages = await fit_messages(history, ROOM, workspace)
        assert messages[-1] is history[-1]
        assert messages[0] is not history[0]
        assert read_full_text(str(messages[0].text), workspace) == history[0].text

    async def test_rendering_does_not_depend_on_earlier_renderings(
        self, workspace: Workspace, subtests: pytest.Subtests
    ) -> None:
        """However a history and a window change."""
        first, second = (HumanMessage(FOX * 100, id="u"), HumanMessage(FOX * 150, id="v"))
        picture = ToolMessage([{"type": "image", "url": "x"}], tool_call_id="c1", id="t1")
        turn: list[AnyMessage] = [asks(1), answer(1, FOX * 60)]
        wide = ContextWindow(size=0, around=0, room=ROOM, factor=1, full=0, vision=True)
        rendered = RenderedHistory(workspace)
        requests: list[tuple[list[AnyMessage], ContextWindow]] = [
            ([first, *turn], wide),
            ([first, *turn, second], wide),
            ([first, *turn], replace(wide, room=ROOM / 4)),
            ([first, asks(1), picture], wide),
            ([first, asks(1), picture], replace(wide, vision=False)),
            ([first, asks(1), answer(1, "edited"), asks(2), answer(2)], wide),
            ([first, asks(2), answer(2)], wide),
        ]
        for history, window in requests:
            with subtests.test(history=history, window=window):
                anew = RenderedHistory(workspace)
                assert await rendered.render(history, window) == await anew.render(history, window)
                assert rendered.ids == anew.ids


class TestCompaction:
    HISTORY = (
        HumanMessage("Do it.", id="u"),
        *(message for n in range(6) for message in (asks(n), answer(n))),
    )

    def test_turns_are_evicted_whole_and_oldest_first(self) -> None:
        evicted = select_evicted(self.HISTORY, [10.0] * 13, 70)
        assert [m.id for m in evicted] == ["a0", "t0", "a1", "t1", "a2", "t2"]
        evicted = select_evicted(self.HISTORY, [10.0] * 13, 0, 3)
        remaining = [m.id for m in self.HISTORY if m not in evicted]
        assert remaining == ["u", "a3", "t3", "a4", "t4", "a5", "t5"], "and the request"
        assert select_evicted(self.HISTORY, [10.0] * 13, 1_000) == []
        first, second = HumanMessage("Do.", id="u"), HumanMessage("Go on.", id="v")
        assert select_evicted([first, asks(0), second, asks(1)], [10.0] * 4, 0, 0) == [], (
            "open calls"
        )
        # requests of earlier runs are evicted only if necessary
        history: list[AnyMessage] = [HumanMessage(f"{n}", id=str(n)) for n in range(4)]
        assert select_evicted(history, [10.0] * 4, 10, max_size=100, request_index=3) == []
        evicted = select_evicted(history, [10.0] * 4, 20, max_size=30, request_index=3)
        assert [m.id for m in evicted] == ["0", "1"]

    def test_the_summary_replaces_the_evicted_turns_and_the_previous_one(self) -> None:
        history, evicted = list(self.HISTORY), select_evicted(self.HISTORY, [10.0] * 13, 50)
        once, writes = replace_with_notes(history, evicted, "Notes.\n- one [#1]")
        assert append_messages(history, [writes]) == once
        assert isinstance(once[1], SystemMessage)
        assert SUMMARY in once[1].additional_kwargs
        assert_paired(once)
        assert existing_notes(once) == ["- one [#1]"]
        again, writes = replace_with_notes(
            once, select_evicted(once, [10.0] * len(once), 0, 1), "Notes."
        )
        assert append_messages(once, [writes]) == again
        assert writes[0].id == once[1].id
        assert all(isinstance(write, RemoveMessage) for write in writes[1:])


def test_notes_are_under_their_headings_and_prose_is_dropped() -> None:
    reply = (
        "Here are the notes:\n- Code 42 [#1]\n**Next:**\n* Ask K9, line 77\n# found\n"
        "- Port 8080 [#4]\n- \n## Wanted\n1. All 300 codes of K8"
    )
    notes = parse_notes(reply.splitlines())
    assert format_notes(notes) == [
        *("## Wanted", "- All 300 codes of K8"),
        *("## Found", "- Code 42 [#1]", "- Port 8080 [#4]"),
        *("## Next", "- Ask K9, line 77"),
    ]
    assert parse_notes(format_notes(notes)) == notes


def test_wanted_and_next_are_kept_longest() -> None:
    old = [f"- A long finding of no interest any more, number {n} [#{n}]" for n in range(90)]
    lines = ["## Wanted", "- All codes", "## Found", *old, "## Next", "- Ask on"]
    notes = truncate_notes(parse_notes(lines), 200)
    assert notes[1:4] == ["## Wanted", "- All codes", "## Found"]
    assert notes[-3:] == [old[-1], "## Next", "- Ask on"]
    assert len(notes) < 20


def test_images_are_not_counted_as_text_and_other_scripts_have_more_tokens(
    subtests: pytest.Subtests,
) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{RED_DOT * 900}"}}
    assert 500 < estimate_message(ToolMessage([image], tool_call_id="1")) < 2_000
    for word in ("狐", "лис"):
        words, letters = word * 900, "f" * 900 * len(word)
        with subtests.test("compared with letters", word=word):
            assert estimate_text(words) > 1.5 * estimate_text(letters)
        for text in (words, letters):
            human = HumanMessage([{"type": "text", "text": text}])
            call = {"id": "1", "name": "bash", "args": {"command": text}}
            for message in (HumanMessage(text), human, AIMessage("", tool_calls=[call])):
                with subtests.test(word=word, text=text):
                    expected = pytest.approx(estimate_text(text), rel=0.1, abs=40)
                    assert estimate_message(message) == expected


GPT = ModelSettings.model_validate({"model": "gpt-5", "api_key": "k"})


async def test_settings_then_what_was_learned_then_the_models_profile() -> None:
    model = await build_model(GPT, Path())
    assert get_window(GPT, model) == 272_000
    assert get_window(GPT) == 272_000, "even before there is a client"
    learn_window(ContextOverflowError("maximum context length is 9000", (None, "gpt-5")), 10_000)
    assert get_window(GPT.model_copy(), model) == 9_000, "whichever run asks"
    assert get_window(GPT.model_copy(update={"context_window": 5_000}), model) == 5_000
    assert get_window(ModelSettings(model="someone/unknown")) == 128_000
    assert get_window(ModelSettings(model="openai/gpt-4-turbo")) == 128_000, "not as gpt-4"


LEARNED = {"maximum context length is 90000": 8_000, "It is too long.": 5_000, "limit 2048": 2_048}


def test_rejected_sizes_and_server_counts_are_learned_from(
    subtests: pytest.Subtests,
) -> None:
    for number, (message, window) in enumerate(LEARNED.items()):
        with subtests.test(number=number, message=message):
            endpoint = ModelSettings(model="m", base_url=f"http://learned{number}/v1")
            learn_window(ContextOverflowError(message, (endpoint.base_url, endpoint.model)), 10_000)
            assert get_window(endpoint) == window, "less than the rejected size"
    assert calibrate(1.0, 1_000, 1_500) == 1.5
    assert calibrate(1.5, 1_000, 10) == 1.5, "it counts something else"


LIMITS: list[tuple[int | None, float]] = [
    (None, 600),  # the first compaction: the setting
    (200, 600),  # much was freed: the setting again
    (700, 800),  # little was freed: half of what is left must fill up first
    (880, 890),
]


@pytest.mark.parametrize(("size", "limit"), LIMITS)
def test_a_compaction_that_freed_little_is_not_repeated_at_once(
    size: int | None, limit: float
) -> None:
    window = ContextWindow(1000, around=50, room=950, factor=1.0, full=900, vision=False)
    compaction = None if size is None else Compaction(count=1, evicted=4, at="m", size=size)
    assert compaction_limit(0.6, compaction, window) == limit
    if size is not None:
        assert limit > size, "the next step is never compacted again"


def test_the_next_request_is_the_last_one_that_was_counted_and_what_is_new() -> None:
    window = ContextWindow(1000, around=50, room=950, factor=2.0, full=900, vision=False)
    usage: Any = {"input_tokens": 300, "output_tokens": 40, "total_tokens": 340}
    old, new = HumanMessage("Before.", id="a"), HumanMessage("And after it.", id="z")
    counted = AIMessage("Counted.", id="b", usage_metadata=usage)
    assert next_size([old, counted, new], None, window) == 340 + window.count([new])
    compaction = Compaction(count=1, evicted=4, at="b", size=120)
    assert next_size([old, counted, new], compaction, window) == 120 + window.count([new])
    assert next_size([old, new], None, window) == 2 * 50 + window.count([old, new])


def test_a_repaired_history_keeps_the_messages_at_its_start() -> None:
    first, second, third = (HumanMessage(name, id=name) for name in "abc")
    writes = replacement_writes([first, second, third], [first, third])
    removed = [write.id for write in writes if isinstance(write, RemoveMessage)]
    assert "a" not in removed
    assert removed == ["b", "c"]
    assert first not in writes
