"""What is signed or encrypted is nothing to look at, however large it is."""

from typing import Any

from tests.manus.program import Program
from tests.server import Raw, Request, ScriptedServer, message_of, said, stream_of, text

SEALED = "gAAAAB" * 50_000
DETAILS = [
    {"type": "reasoning.text", "text": "I think of it.", "signature": SEALED, "index": 0},
    {"type": "reasoning.encrypted", "data": SEALED, "id": "rs_1", "index": 1},
]
CALL: dict[str, Any] = {
    "id": "c",
    "type": "function",
    "function": {"name": "bash", "arguments": '{"command": "echo hi"}'},
    "extra_content": {"google": {"thought_signature": SEALED}},
}


def sealed(request: Request) -> Raw:
    """A call with much that is sealed beside it, in a stream if one is asked for."""
    beside = {"role": "assistant", "content": "I say hi.", "reasoning_details": DETAILS}
    if not request.stream:
        return message_of("tool_calls", **beside, tool_calls=[CALL])
    return stream_of(said({**beside, "tool_calls": [{**CALL, "index": 0}]}), said({}, "tool_calls"))


def test_on_the_command_line(manus: Program, server: ScriptedServer) -> None:
    server.strict = False
    server.script(sealed, text("Done."))
    result = manus("run", "say hi", "--thread", "t", "--json")
    assert (result.code, result.json["output"]) == (0, "Done.")
    shown = manus("show", "t")
    report = manus("report", "t", "--output", "-")
    for shown_there in (result.out, result.err, shown.out, report.out):
        assert "gAAAAB" not in shown_there
    assert "I say hi." in result.err
    assert "echo hi" in shown.out
    assert server.requests[-1].raw.count(SEALED.encode()) == 3
