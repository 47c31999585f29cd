"""What the program says and does about texts and threads that are too long for the model."""

from __future__ import annotations

import re

from prompts import compaction as prompts
from tests.manus.program import Program
from tests.server import ScriptedServer, call, calls, fail, mentions, text


def test_a_line_tells_of_a_compaction(manus: Program, server: ScriptedServer) -> None:
    server.when(mentions(prompts.SUMMARIZER[:40])).always(text("- Counted. [#1]"))
    server.when(mentions(prompts.INSTRUCTION_FINDER[:40])).always(text("NONE"))
    counts = [calls(call("bash", command=f"seq {n} {n + 900}")) for n in range(5)]
    overflow = fail(400, code="context_length_exceeded")
    server.script(*counts, overflow, text("Done."))
    result = manus("run", "Count.")
    assert result.code == 0
    [line] = [line for line in result.err.splitlines() if "Older turns" in line]
    found = re.fullmatch(
        r"  context Older turns were summed up: about ([\d,]+) → ([\d,]+) tokens", line
    )
    assert found is not None
    before, after = (int(figure.replace(",", "")) for figure in found.groups())
    assert before > after + 1_000


def test_two_megabytes_are_taken_from_stdin(manus: Program, server: ScriptedServer) -> None:
    pasted = "What is this?\n" + "一只敏捷的棕色狐狸 jumped over.\n" * 60_000
    server.script(text("A fox."))
    result = manus("run", "--thread", "long", stdin=pasted)
    assert (result.code, result.out.strip()) == (0, "A fox.")
    [request] = server.requests
    shown = str(request.messages[1]["content"])
    assert len(shown) < len(pasted) / 4
    found = re.search(r"characters left out; all [\d,]+ are in (\S+) …\]", shown)
    assert found is not None
    assert (manus.workspace / found[1]).read_text("utf-8").strip() == pasted.strip()
    stored = manus("show", "--json", "long").json["messages"][0]["text"]
    assert stored.strip() == pasted.strip()
