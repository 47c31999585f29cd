"""Calls that a person approves on the command line."""

from __future__ import annotations

from tests.manus.program import Program
from tests.server import ScriptedServer, call, text


def test_the_mode_of_a_run_is_kept(manus: Program, server: ScriptedServer) -> None:
    echo = call("bash", command="echo hi >> said")
    server.script(echo, echo)
    with manus.terminal("run", "--thread", "t", "--approve", "ask", "say hi") as terminal:
        terminal.expect("later): ")
        terminal.type("yes\n")
        terminal.expect("Step 2/")
        terminal.raw = terminal.raw.rpartition("Step 2/")[2]  # behind the question before
        terminal.expect("later): ")
        terminal.type("\x04")
        assert terminal.wait() == 1
    server.script(text("Well."))
    assert manus("resume", "t", "--answer", "no: enough").out == "Well.\n"
    assert "enough" in str(server.requests[-1].messages)
    assert (manus.workspace / "said").read_text() == "hi\n"
    shown = manus("show", "t").out
    assert shown.count("asked: May it call `bash`") == 2
    assert "enough" in shown
    assert manus("run", "--approve", "never", "say hi").code == 2
