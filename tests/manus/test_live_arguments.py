"""Tool-call arguments as they arrive, on a terminal: one line, whatever stands in them."""

from __future__ import annotations

import re
import threading

import pytest
from rich.cells import cell_len

from tests.manus.program import Program
from tests.server import ScriptedServer, call, calls, hang, text

FAMILY = "👨‍👩‍👧‍👦"
ARGUMENTS = {
    "long": "x" * 3_000,
    "wide": "世界和平" * 200,
    "signs": (FAMILY + "🇩🇪e\u0301") * 60,
    "lines": "one\n\ttwo\r\n" * 100,
    "controls": "\x1b[31mred\x1b[0m\x07\x9b2J" * 60,
}


def frames(raw: str) -> list[str]:
    """What stood on the line that is written over, each time it was."""
    return re.findall(r"\x1b\[2m([^\x1b]*)\x1b\[22m", raw)


@pytest.mark.parametrize("kind", ARGUMENTS)
@pytest.mark.parametrize("columns", [80, 40])
def test_they_stay_on_one_line(
    manus: Program, server: ScriptedServer, kind: str, columns: int
) -> None:
    write = call("str_replace_editor", command="create", path="a", file_text=ARGUMENTS[kind])
    server.script(calls(write, text="I write."), text("Done."))
    with manus.terminal("run", "write", columns=columns) as terminal:
        assert terminal.wait() == 0
    shown = frames(terminal.raw)
    assert len(shown) > 5
    assert "…" in shown[-1][30:], "the end of the text is shown"
    assert all(cell_len(frame) < columns for frame in shown)
    assert not any(re.search(r"[\x00-\x1f\x7f-\x9f]", frame) for frame in shown)
    assert shown[-1].startswith("  call    str_replace_editor")
    lines = terminal.text.splitlines()
    assert lines[1] == "  I write."
    assert lines[2].startswith("  model")


def test_signs_are_not_torn(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="# " + FAMILY * 80), text("Done."))
    with manus.terminal("run", "write") as terminal:
        assert terminal.wait() == 0
    cut = [frame for frame in frames(terminal.raw) if "…" in frame]
    assert cut
    for frame in cut:
        # the last one may not have come whole yet
        assert frame.partition("…")[2].startswith(FAMILY)


def test_they_fit_a_terminal_that_was_made_narrower(manus: Program, server: ScriptedServer) -> None:
    narrow = threading.Event()
    write = call("str_replace_editor", command="create", path="a", file_text="words " * 500)
    server.script(hang(narrow, reply=calls(write), after_chunks=6), text("Done."))
    with manus.terminal("run", "write") as terminal:
        terminal.expect("characters): …")
        before = len(terminal.raw)
        terminal.resize(40)
        narrow.set()
        assert terminal.wait() == 0
    wide, after = frames(terminal.raw[:before]), frames(terminal.raw[before:])
    assert max(map(cell_len, wide)) > 40
    assert after
    assert all(cell_len(frame) < 40 for frame in after[1:])
