"""What is signed or encrypted is nothing to look at, however large it is."""

from typing import Any

from tests.manus.program import Program
from tests.server import ScriptedServer, said, stream_of, text

SEALED = "gAAAAB" * 50_000
DETAILS = [
    {"type": "reasoning.text", "text": "I think of it.", "signature": SEALED, "index": 0},
    {"type": "reasoning.encrypted", "data": SEALED, "id": "rs_1", "index": 1},
]
CALL: dict[str, Any] = {
    "index": 0,
    "id": "c",
    "type": "function",
    "function": {"name": "bash", "arguments": '{"command": "echo hi"}'},
    "extra_content": {"google": {"thought_signature": SEALED}},
}
SAYS = {"role": "assistant", "content": "I say hi.", "reasoning_details": DETAILS}


def test_on_the_command_line(manus: Program, server: ScriptedServer) -> None:
    server.strict = False
    server.script(
        stream_of(said({**SAYS, "tool_calls": [CALL]}), said({}, "tool_calls")), text("Done.")
    )
    result = manus("run", "say hi", "--thread", "t", "--json")
    assert (result.code, result.json["output"]) == (0, "Done.")
    shown = manus("show", "t")
    report = manus("report", "t", "--output", "-")
    for shown_there in (result.out, result.err, shown.out, report.out):
        assert "gAAAAB" not in shown_there
    assert "I say hi." in result.err
    assert "echo hi" in shown.out
    assert server.requests[-1].raw.count(SEALED.encode()) == 3
