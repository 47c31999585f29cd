"""The reducer of the history, as the delta channel requires it, and queries on a history."""

import copy
import itertools
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from manus.state.history import append_messages, messages_since
from manus.state.messages import get_text

_TEXT = st.sampled_from(["", "hi", "go on", "ünï 😀"])
_ID = st.sampled_from(["a", "b", "c"])
_KINDS: dict[str, Callable[[str, str | None], Any]] = {
    "human": lambda text, name: HumanMessage(text, id=name),
    "ai": lambda text, name: AIMessage(text, id=name),
    "chunk": lambda text, name: AIMessageChunk(content=text, id=name),
    "tool": lambda text, name: ToolMessage(text, tool_call_id="t", id=name),
    "image": lambda text, name: HumanMessage([{"type": "text", "text": text}], id=name),
    "dict": lambda text, name: {"role": "user", "content": text, **({"id": name} if name else {})},
    "dump": lambda text, name: AIMessage(text, id=name).model_dump(),
    "pair": lambda text, _: ("assistant", text),
    "text": lambda text, _: text,
}
_ONE = st.builds(
    lambda kind, text, name: _KINDS[kind](text, name),
    st.sampled_from([*_KINDS]),
    _TEXT,
    st.none() | _ID,
)
_REMOVAL = st.builds(lambda name: RemoveMessage(id=name), _ID | st.just(REMOVE_ALL_MESSAGES))
_ITEM = st.one_of(_ONE, _ONE, _ONE, _REMOVAL)
_WRITE = st.one_of(_ITEM, st.lists(_ITEM, max_size=4), st.lists(_ITEM, max_size=4).map(tuple))
_WRITES = st.lists(_WRITE, max_size=8).filter(
    lambda writes: not any(_ambiguous(write) for write in writes)
)


def _ambiguous(write: Any) -> bool:
    """Return whether it is a tuple of two starting with a text: a role and a text."""
    return isinstance(write, tuple) and len(write) == 2 and isinstance(write[0], str)


def _dump(history: list[AnyMessage]) -> list[dict[str, Any]]:
    return [message.model_dump() for message in history]


@given(writes=_WRITES, cuts=st.lists(st.integers(0, 8), max_size=4))
def test_any_batching_gives_the_same_history(writes: list[Any], cuts: list[int]) -> None:
    at_once = append_messages([], copy.deepcopy(writes))
    piecemeal: list[AnyMessage] = []
    places = sorted({0, len(writes), *(cut for cut in cuts if cut <= len(writes))})
    for begin, end in itertools.pairwise(places):
        piecemeal = append_messages(piecemeal, copy.deepcopy(writes[begin:end]))
    assert _dump(piecemeal) == _dump(at_once)


@given(steps=st.lists(st.tuples(st.integers(0, 9), _ITEM), min_size=1, max_size=12))
def test_branches_of_a_history_are_independent(steps: list[tuple[int, Any]]) -> None:
    """Copies share an index; each branch is as if it was built from a plain list."""
    branches: list[list[AnyMessage]] = [append_messages([], [])]
    for number, write in steps:
        base = branches[number % len(branches)]
        expected = _dump(append_messages([*base], copy.deepcopy([write])))
        branches.append(append_messages(base, copy.deepcopy([write])))
        assert _dump(branches[-1]) == expected
    for branch in branches:
        for message in branch:
            assert messages_since(branch, message.id) == messages_since([*branch], message.id)


def test_a_history_that_somebody_changes_in_place_is_read_again() -> None:
    history = append_messages([], [[("user", "a"), ("user", "b")]])
    history.append(HumanMessage("c", id="3"))
    assert [m.text for m in append_messages(history, [HumanMessage("d", id="3")])] == [*"abd"]
    history[-1] = HumanMessage("e", id="4")
    assert [m.text for m in append_messages(history, [HumanMessage("f", id="4")])] == [*"abf"]
    assert type(copy.deepcopy(history)) is list


@given(writes=_WRITES)
def test_neither_the_history_nor_the_writes_are_changed(writes: list[Any]) -> None:
    before = append_messages([], copy.deepcopy(writes))
    frozen_history, frozen_writes = _dump(before), copy.deepcopy(writes)
    append_messages(before, writes)
    assert _dump(before) == frozen_history
    assert writes == frozen_writes


@given(writes=_WRITES, additions=st.lists(_ONE, max_size=3))
def test_each_message_has_an_id_and_new_ones_are_appended(
    writes: list[Any], additions: list[Any]
) -> None:
    history = append_messages([], writes)
    fresh = [HumanMessage(get_text(m)) for m in append_messages([], additions)]
    grown = append_messages(history, [fresh])
    assert _dump(grown[: len(history)]) == _dump(history)
    assert len(grown) == len(history) + len(fresh)
    ids = {message.id for message in grown}
    assert None not in ids
    assert len(ids) == len(grown)


class _State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(append_messages, snapshot_frequency=1000)]


@settings(max_examples=15, deadline=None)
@given(batches=st.lists(st.lists(_ITEM, min_size=1, max_size=4), min_size=1, max_size=4))
def test_what_is_read_back_is_what_the_run_saw(batches: list[list[Any]]) -> None:
    snapshots: list[list[dict[str, Any]]] = []
    builder = StateGraph(_State)
    builder.add_node("look", lambda state: snapshots.append(_dump(state.get("messages", []))))
    builder.add_edge(START, "look")
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    for batch in batches:
        builder.compile(checkpointer=saver).invoke({"messages": copy.deepcopy(batch)}, config)
    stored = builder.compile(checkpointer=saver).get_state(config).values.get("messages", [])
    assert _dump(stored) == snapshots[-1]


def test_a_known_id_replaces_in_place_and_a_removal_takes_one_or_all() -> None:
    history = append_messages([], [[HumanMessage("a", id="1"), HumanMessage("b", id="2")]])
    replaced = append_messages(history, [AIMessage("new", id="1")])
    assert [(m.id, m.text, m.type) for m in replaced] == [("1", "new", "ai"), ("2", "b", "human")]
    assert [m.id for m in append_messages(history, [RemoveMessage(id="1")])] == ["2"]
    assert [m.id for m in append_messages(history, [RemoveMessage(id="9")])] == ["1", "2"]
    fresh = append_messages(history, [[RemoveMessage(id=REMOVE_ALL_MESSAGES), ("user", "c")]])
    assert [m.text for m in fresh] == ["c"]


def test_the_same_message_twice_is_two() -> None:
    message = HumanMessage("again")
    history = append_messages([], [message, [message]])
    assert [m.text for m in history] == ["again", "again"]
    assert message.id is None
    removal = RemoveMessage(id=str(history[0].id))  # whose position is reused
    assert len(append_messages(history, [removal, HumanMessage("again")])) == 2


def test_since_an_id() -> None:
    history: list[AnyMessage] = [HumanMessage("1", id="1"), AIMessage("2", id="2")]
    assert messages_since(history, "1") == history[1:]
    assert messages_since(history, "2") == []
    assert messages_since(history, "9") == history
