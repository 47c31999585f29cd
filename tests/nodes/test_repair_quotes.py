"""Arguments with typographic quotes and signs: one reading of them is taken, of two none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manus.models.repair import REPAIRED, repaired_call
from tests.helpers.agent import ScriptedAgent
from tests.nodes.test_repair import SCHEMAS, read
from tests.server import call, calls, text, tokens

HOW = "typographic quotes and signs were read as JSON's"


@pytest.mark.parametrize(
    ("args", "meaning"),
    [
        ("{“command”: “ls”}", {"command": "ls"}),
        ("{”command”: ”ls”}", {"command": "ls"}),
        ("{“command“: “ls“}", {"command": "ls"}),
        ("{„command“: „ls“}", {"command": "ls"}),
        ("{„command”: „ls”}", {"command": "ls"}),
        ("{«command»: «ls»}", {"command": "ls"}),
        ("{»command«: »ls«}", {"command": "ls"}),
        ("{‘command’: ‘ls’}", {"command": "ls"}),
        ("{’command’: ’ls’}", {"command": "ls"}),
        ("{‚command‘: ‚ls‘}", {"command": "ls"}),
        ("{‹command›: ‹ls›}", {"command": "ls"}),
        ("{＂command＂: ＂ls＂}", {"command": "ls"}),
        ("｛“command”：“ls”｝", {"command": "ls"}),
        ('｛"command"："ls"，"timeout"：3｝', {"command": "ls", "timeout": 3}),
        ("{'command'：'ls'}", {"command": "ls"}),
        ('{"command": “ls”, "timeout": null}', {"command": "ls", "timeout": None}),
        ("{“command”: ‘ls’, “restart”: True}", {"command": "ls", "restart": True}),
        ('{"command":\u00a0"ls"}', {"command": "ls"}),
        ('{\u3000"command": "ls"\u3000}', {"command": "ls"}),
        ("```json\n{“command”: “ls”}\n```", {"command": "ls"}),
        ("[{“command”: “ls”}]", {"command": "ls"}),
        ("{“command”: “a\nb\\tc\\\\d”}", {"command": "a\nb\tc\\d"}),
        ("{“command”: “\\u4e16\\ud83d\\ude00”}", {"command": "世😀"}),
        ('{“command”: “say \\"hi\\"”}', {"command": 'say "hi"'}),
        ('{“command”: “say "hi" now”}', {"command": 'say "hi" now'}),
        ("{“command”: “it's ‘so’”}", {"command": "it's ‘so’"}),
        ("{‘command’: ‘say “hi”, then go’}", {"command": "say “hi”, then go"}),
        ('{"command"："他说“你好”，然后走了"}', {"command": "他说“你好”，然后走了"}),
        ('｛"command": "a：b，c｛d｝ “e” ‘f’"｝', {"command": "a：b，c｛d｝ “e” ‘f’"}),
        ("{'command'：'he said “hi”, didn’t he'}", {"command": "he said “hi”, didn’t he"}),
        ("{‹command›: ‹it's›}", {"command": "it's"}),
    ],
)
def test_what_has_one_reading_is_read(args: str, meaning: dict[str, Any]) -> None:
    found, notes = repaired_call({"id": "1", "name": "bash", "args": args}, SCHEMAS)
    assert found is not None
    assert found["args"] == meaning
    assert notes in ([HOW], ["the arguments were in a list"])


@pytest.mark.parametrize(
    "said",
    [
        "“quoted”",
        "He’s “here”， and ｛so｝ on：",
        "„a“ «b» ‹c›",
        "，：｛｝［］",
        "‘",
        "”}",
        '”, "b": "',
    ],
)
def test_in_an_ordinary_text_they_mean_themselves(said: str) -> None:
    for args in (json.dumps({"command": said}, ensure_ascii=False), str({"command": said})):
        assert read("bash", args) == ("bash", {"command": said})


@pytest.mark.parametrize(
    "args",
    [
        "{“command”: “echo “hi” there”}",
        "{“command”: “say ”}”}",
        "{‘command’: ‘it’s’}",
        '{“command”: “ls", "timeout": “3”}',
        '{“command”: “ls"}',
        '{"command”: “ls”}',
        '{"command": "ls”}',
        '{“command": "ls”, “restart": "x"}',
        '{“a”: "x”, “command": 1}',
        "{“command”: „ls“, „timeout”: 3}",
        "{“command”: “a”, “restart”: ”b”}",
        "{“command”: “echo \\”hi\\””}",
        "{“command”: “C:\\dir”}",
        "{“command”: “a\\/b”}",
        "{« command »: « ls »}",
        "{“command”: “ls”, “command”: “pwd”}",
        "{“command”: “ls”} {“command”: “pwd”}",
        "{“command”: “ls”}, “timeout”: 3}",
        "{“command”: “ls”；“timeout”：3}",
        "{“command”: ls}",
        "{“command”: “ls”, “timeout”: ３}",
        "{“command”: “ls”, “timeout”: 1e999}",
        "{“command”: “ls”,}",
        "{command： ls}",
        "“ls -la”",
        "“ls",
        "{“command”: “rm -rf /tmp/a",
        "{“command”: “rm -rf /tmp/a”",
        "{“command”: “ls”, “timeout”: 3",
        "｛“command”：“ls”",
        "［{“command”: “ls”}",
        '{"command"： "ls", ',
        "{" * 5 + "“a”: " * 2,
        "{“command”: " + "[" * 100_000,
        "他说：“你好”",
    ],
)
def test_what_is_cut_off_or_has_two_readings_is_not(args: str) -> None:
    assert read("bash", args) is None


PAIRS = ["“”", "””", "““", "„“", "„”", "«»", "»«", "‘’", "‚‘", "‹›", "＂＂", '""']
QUOTES = "\"'“”„‟«»＂‘’‚‛‹›＇"
LETTERS = st.sampled_from([*"ab {}[]:,#/\\\n\t你é😀，：｛｝", "it ", "null"])
PLAIN = st.lists(LETTERS, max_size=6).map(lambda letters: "".join(letters).strip())
ANY = st.lists(LETTERS | st.sampled_from(QUOTES), max_size=6).map("".join)
Values = Callable[[st.SearchStrategy[str]], st.SearchStrategy[Any]]


def arguments(texts: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    leaves = st.none() | st.booleans() | st.integers(-9, 99) | texts
    values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
        max_leaves=4,
    )
    return st.fixed_dictionaries({"command": texts, "more": values})


@st.composite
def signs(draw: st.DrawFn) -> dict[str, str]:
    """A quote in place of JSON's, and for each sign itself or its wide form."""
    wide = dict(zip("{}[]:,", "｛｝［］：，", strict=True))
    chosen = {sign: draw(st.sampled_from([sign, wide[sign]])) for sign in wide}
    return {**chosen, "pair": draw(st.sampled_from(PAIRS))}


def written(value: Any, as_: dict[str, str]) -> str:
    if isinstance(value, str):
        return as_["pair"][0] + json.dumps(value, ensure_ascii=False)[1:-1] + as_["pair"][1]
    if isinstance(value, list):
        return as_["["] + as_[","].join(written(v, as_) for v in value) + as_["]"]
    if isinstance(value, dict):
        pairs = (written(k, as_) + as_[":"] + written(v, as_) for k, v in value.items())
        return as_["{"] + as_[","].join(pairs) + as_["}"]
    return json.dumps(value)


ANYTHING = {"t": {"type": "object", "properties": {"command": {"type": "string"}, "more": {}}}}


def meant(args: str) -> dict[str, Any] | None:
    found, _ = repaired_call({"id": "1", "name": "t", "args": args}, ANYTHING)
    return None if found is None else dict(found["args"])


@settings(max_examples=300)
@given(arguments(PLAIN), signs())
def test_whatever_is_written_so_is_read_as_it_was_meant(
    args: dict[str, Any], as_: dict[str, str]
) -> None:
    assert meant(written(args, as_)) == args


@settings(max_examples=300)
@given(arguments(PLAIN), signs(), st.data())
def test_no_beginning_of_it_is_read(
    args: dict[str, Any], as_: dict[str, str], data: st.DataObject
) -> None:
    whole = written(args, as_)
    assert meant(whole[: data.draw(st.integers(1, len(whole) - 1))]) is None


@settings(max_examples=600)
@given(arguments(ANY), signs())
def test_with_quotes_in_its_texts_it_is_read_as_meant_or_not_at_all(
    args: dict[str, Any], as_: dict[str, str]
) -> None:
    """But for the pair itself: unescaped, it cannot be told from the end of a text."""
    for quote in as_["pair"]:
        args = json.loads(json.dumps(args).replace(json.dumps(quote)[1:-1], ""))
    assert meant(written(args, as_)) in (args, None)


async def test_such_a_call_is_carried_out_and_the_model_sees_its_right_form(
    agent: ScriptedAgent,
) -> None:
    await agent.run(call("append", raw="｛“path”：“a”，“line”：“‚x‘ y”｝"), text("done"))
    assert agent.lines("a") == ["‚x‘ y"]
    message = (await agent.messages())[1]
    assert list(message.additional_kwargs[REPAIRED].values()) == [[HOW]]
    sent = agent.server.requests[1].messages[2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"path": "a", "line": "‚x‘ y"}


async def test_one_that_was_cut_off_is_not(agent: ScriptedAgent) -> None:
    whole = "{“path”: “a”, “line”: “x”}"
    short = calls(call("append", raw=whole), finish_reason="length", usage=tokens(10, 10))
    outcome = await agent.run(short, call("append", raw=whole[:-1]), text("done"))
    assert outcome.stop_reason == "answered"
    assert agent.lines("a") == []


async def test_a_model_without_tools_may_write_so(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_TOOL_CALLING", "prompted")
    said = "<tool_call>{“name”：“append”，“arguments”：{“path”：“a”，“line”：“x”}}</tool_call>"
    await agent.run(text(said), text("done"))
    assert agent.lines("a") == ["x"]
