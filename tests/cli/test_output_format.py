"""What scripts read: the outcome or the events as JSON, the answer in a file, or by a schema."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Program
from tests.server import ScriptedServer, call, calls, text

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "moons": {"type": "integer", "minimum": 0}},
    "required": ["name", "moons"],
}


def test_a_stream_has_a_line_for_each_event(manus: Program, server: ScriptedServer) -> None:
    server.script(calls(call("bash", command="echo hi"), text="I say hi."), text("Done."))
    result = manus("run", "--output-format", "jsonl", "say hi")
    assert result.code == 0
    first, *events, last = map(json.loads, result.out.splitlines())
    assert (first["type"], first["version"]) == ("start", 1)
    types = [event["type"] for event in events]
    work = [t for t in types if t in ("thought", "call", "observation")]
    assert work[:4] == ["thought", "call", "observation", "thought"]
    [seen] = [event for event in events if event["type"] == "observation"]
    assert "hi" in seen["text"]
    assert last.pop("type") == "result"
    assert (last["output"], last["success"], last["thread_id"]) == (
        "Done.",
        True,
        first["thread_id"],
    )


def test_formats_of_the_outcome(manus: Program, server: ScriptedServer) -> None:
    server.script(*[text("Done.")] * 4)
    answer = manus.home / "answer.txt"
    plain = manus("run", "-o", str(answer), "one")
    assert (plain.out, answer.read_text()) == ("Done.\n", "Done.\n")
    results = [manus("run", *options, "x") for options in (["--json"], ["--output-format", "json"])]
    for result in results:
        assert len(result.out.splitlines()) == 1
        assert result.json["output"] == "Done."
    assert results[0].json.keys() == results[1].json.keys()
    missing = manus("run", "-o", str(manus.home / "no" / "answer.txt"), "two")
    assert (missing.code, "Cannot write the answer" in missing.err) == (1, True)


def test_an_answer_matches_the_schema(manus: Program, server: ScriptedServer) -> None:
    (manus.home / "planet.json").write_text(json.dumps(SCHEMA))
    mars: dict[str, Any] = {"name": "Mars", "moons": 2}
    server.script(call("answer", name="Mars", moons="two"), call("answer", **mars))
    result = manus("run", "--json", "--output-schema", "planet.json", "Describe Mars.")
    assert (result.code, result.json["structured"]) == (0, mars)
    assert json.loads(result.json["output"]) == mars
    assert "'two' is not of type 'integer'" in str(server.requests[-1].messages)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "is not a JSON Schema"),
        ('{"type": "objet"}', "is not a JSON Schema"),
        ('{"type": "array"}', "is not the JSON Schema of an object"),
        ("[]", "is not a JSON Schema"),
    ],
)
def test_an_invalid_schema_is_refused(manus: Program, content: str, problem: str) -> None:
    Path(manus.home / "schema.json").write_text(content)
    result = manus("run", "--output-schema", "schema.json", "x")
    assert (result.code, problem in result.err, result.err.count("\n")) == (2, True, 1), result.err


def test_a_flow_has_no_schema(manus: Program) -> None:
    (manus.home / "schema.json").write_text('{"type": "object"}')
    result = manus("flow", "--output-schema", "schema.json", "x")
    assert (result.code, "use `manus run`" in result.err) == (2, True), result.err
