"""What the program says and does about texts and threads that are too long for the model."""

import re
from pathlib import Path

from manus.prompts import compaction as prompts
from tests.manus.program import Program
from tests.server import ScriptedServer, call, calls, fail, mentions, text


def test_two_megabytes_are_taken_from_stdin(manus: Program, server: ScriptedServer) -> None:
    pasted = "What is this?\n" + "一只敏捷的棕色狐狸 jumped over.\n" * 60_000
    server.script(text("A fox."))
    result = manus("run", "--thread", "long", stdin=pasted)
    assert (result.code, result.out.strip()) == (0, "A fox.")
    [request] = server.requests
    shown = str(request.messages[1]["content"])
    assert len(shown) < len(pasted) / 4
    [place] = re.findall(r"characters left out; all [\d,]+ are in (\S+) …\]", shown)
    assert (manus.workspace / place).read_text("utf-8").strip() == pasted.strip()
    stored = manus("show", "--json", "long").json["messages"][0]["text"]
    assert stored.strip() == pasted.strip()


def _records(manus: Program) -> set[str]:
    records = manus.home / ".local/state/manus/workspaces"
    return {path.name for name in ("journal", "archive") for path in records.glob(f"*/{name}/*")}


def test_a_compaction_is_told_and_its_archive_is_deleted_with_the_thread(
    manus: Program, server: ScriptedServer
) -> None:
    server.when(mentions(prompts.SUMMARIZER[:40])).always(text("- Counted. [#1]"))
    overflow = fail(400, code="context_length_exceeded")
    for thread in ("a", "a:b"):
        counts = [calls(call("bash", command=f"seq {n} {n + 1_300}")) for n in range(3)]
        server.script(*counts, overflow, text("Done."))
        counted = manus("run", "--thread", thread, "Count.")
        assert counted.code == 0
        told = r"^  context Older turns were summed up: about ([\d,]+) → ([\d,]+) tokens$"
        [figures] = re.findall(told, counted.err, re.MULTILINE)
        before, after = (int(figure.replace(",", "")) for figure in figures)
        assert before > after + 1_000
    (manus.workspace / "mine.txt").write_text("stays")
    both = _records(manus)
    assert sorted(Path(name).suffix for name in both) == [".jsonl", ".jsonl", ".sqlite", ".sqlite"]
    assert manus("threads", "--delete", "a").code == 0
    assert [name[:5] for name in _records(manus)] == ["a_b_-"] * 2
    assert manus("threads", "--delete", "a:b").code == 0
    assert _records(manus) == set()
    assert (manus.workspace / "mine.txt").read_text() == "stays"
