"""`manus run` with pipes: stdout, stderr and the exit code; texts that are too long."""

import re
import sys
from collections.abc import Callable
from copy import copy
from pathlib import Path

import pytest

from manus.prompts import compaction as prompts
from tests.cli.program import Program, Result
from tests.flow.helpers import succeeds
from tests.helpers.sandboxes import Kind
from tests.server import (
    ScriptedServer,
    build_chunk,
    call,
    calls,
    fail,
    mentions,
    reply_stream,
    text,
)

KEYS = {"thread_id", "status", "stop_reason", "success", "output", "results", "usage"}
COUNTS = {"input_tokens", "output_tokens", "model_calls", "tool_calls", "seconds"}


SYSTEM = "/usr/local/bin:/usr/bin:/bin"
FIRST_LINE = {
    "bubblewrap": "sandbox: bubblewrap",
    "landlock": ("sandbox: landlock, which does not protect git data and start-up files"),
    "none": "no sandbox: each command asks first, unless a rule allows it",
}


@pytest.mark.sandboxes
def test_an_answer(manus: Program, server: ScriptedServer, sandbox_kind: Kind) -> None:
    server.script(text("Hello to you."))
    result = manus("run", "--thread", "t", "Say hello", PATH=SYSTEM)
    assert (result.code, result.out) == (0, "Hello to you.\n")
    assert server.requests[0].messages[-2]["content"] == "Say hello"
    first, _, rest = result.err.partition("\n")
    assert first == f"Working in {manus.workspace} ({FIRST_LINE[sandbox_kind]})"
    assert rest.startswith("Step 1/60\n  model ")
    assert "\x1b" not in result.err
    assert all(len(line) <= 80 for line in result.err.splitlines() if " in /" not in line)
    assert "Finished: 1 step, " in result.err
    [log] = manus.home.rglob("manus.log")
    assert "thread t: answered" in log.read_text()
    assert "Say hello" not in log.read_text(), "requests stay in the threads"


@pytest.mark.sandboxed
def test_the_programs_that_the_sandbox_hides_are_listed_at_the_start(
    manus: Program, server: ScriptedServer
) -> None:
    mine = manus.home / "mine"
    mine.mkdir()
    (mine / "cargo").touch(0o755)
    server.script(text("Hello."))
    result = manus("run", "Say hello", PATH=f"{mine}:{SYSTEM}")
    assert f"The sandbox hides {mine}/cargo (`read` under" in result.err.splitlines()[1]


def test_a_tool_and_its_lines(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    makes = call("bash", command="echo made > a.txt; echo done")
    views = call("str_replace_editor", command="view", path="gone.py")
    server.script(calls(makes, views), succeeds("The file is there."))
    result = manus("run", "make", "a", "file", "--workspace", "elsewhere")
    assert (result.code, result.out) == (0, "The file is there.\n")
    assert (manus.home / "elsewhere" / "a.txt").read_text() == "made\n"
    for line in (
        "  call    bash: echo made > a.txt; echo done\n",
        "  done    bash, ",
        "  failed  str_replace_editor view gone.py, ",
        f"files in {manus.home / 'elsewhere'}",
    ):
        with subtests.test(line=line):
            assert line in result.err
    assert "resume" not in result.err


def test_json_is_one_object_on_the_last_line_and_nothing_else(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(call("bash", command="echo hi"), text("Line one.\nLine two.\x1b[31m"))
    result = manus("run", "--json", "--thread", "my thread", "Say hi")
    assert (result.code, result.out.count("\n"), "\x1b" in result.out) == (0, 1, False)
    outcome = result.json
    assert set(outcome) == KEYS
    facts = {"thread_id": "my thread", "status": "finished", "stop_reason": "answered"}
    assert outcome.items() >= {**facts, "success": True}.items()
    assert outcome["output"].startswith("Line one.\nLine two.")
    assert len(outcome["results"]) == 3
    assert set(outcome["usage"]) >= COUNTS
    assert (outcome["usage"]["model_calls"], outcome["usage"]["tool_calls"]) == (3, 1)
    assert "Step 1/60" in result.err


def test_the_request_comes_from_stdin(manus: Program, server: ScriptedServer) -> None:
    server.script(text("a"), text("b"), text("c"))
    assert manus("run", stdin="  Say grüße\n").code == 0
    assert manus("run", "-", stdin="and more\nlines").code == 0
    assert manus("run", "review this", stdin="-old\n+new\n").code == 0
    *alone, attached = (str(request.messages[-2]["content"]) for request in server.requests)
    assert alone == ["Say grüße", "and more\nlines"]
    assert attached.startswith("review this\n")
    assert "\n-old\n+new\n" in attached


def test_json_is_an_object_if_nothing_could_start(bare: Program, subtests: pytest.Subtests) -> None:
    for arguments in (["run", "--json", "x"], ["flow", "--json", "--max-steps", "0", "x"]):
        with subtests.test(arguments=arguments):
            result = bare(*arguments)
            assert (result.code, set(result.json)) == (2, KEYS)
            assert (result.json["status"], result.json["success"]) == ("error", False)


def test_the_workspace_is_the_current_folder_in_a_project(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.always(text("There."))
    for name in ("empty", "mine/folder", "repository/.git"):
        (manus.home / name).mkdir(parents=True)
    (manus.home / "mine/notes.txt").write_text("mine")
    for place in ("empty/workspace", "mine", "repository"):
        with subtests.test(place=place):
            elsewhere = copy(manus)
            elsewhere.home = manus.home / place.partition("/")[0]
            assert elsewhere("run", "where?").err.startswith(f"Working in {manus.home / place} (")
            assert (manus.home / place / ".manus/.gitignore").read_text() == "*\n"


def test_an_unexpected_error_is_a_sentence_with_the_place_of_its_traceback(
    typed: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "manus.graph", None)  # a broken installation
    result = typed("graph")
    assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
    assert "Unexpected error (ModuleNotFoundError: " in result.err
    log = Path(result.err.partition("traceback is in ")[2].partition(" (set MANUS_DEBUG")[0])
    assert "ModuleNotFoundError: " in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_behind_stdout(manus: Program, server: ScriptedServer) -> None:
    server.script(text("Hi."))
    with (
        Path("/dev/full").open("wb") as full,
        manus.start("run", "--thread", "t", "hello", out=full.fileno()) as process,
    ):
        result = process.end()
    assert result.code == 1
    assert "manus: Cannot write to stdout (No space left on device), " in result.err
    assert "Hi." in manus("show", "t").out


def test_closed_streams(manus: Program) -> None:
    result = manus.cold("run", by=["bash", "-c", 'exec "$@" <&- >&-', "bash"])
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert result.err.startswith("manus: There is no request")


def test_files_and_pictures_are_attached(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    (manus.home / "notes.txt").write_text("wörds\n")
    (manus.home / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    server.script(text("Read."), text("Seen."))
    assert manus("run", "-f", "notes.txt", "-f", "notes.txt", "look").code == 0
    content = str(server.requests[0].messages[-2]["content"])
    assert content.startswith("look\n\n<file name")
    assert content.count("wörds") == 2
    assert manus("run", "--image", "dot.png", "look").code == 0
    words, picture = server.requests[1].messages[-2]["content"]
    assert (words["text"], picture["type"]) == ("look", "image_url")
    for wrong in (("-f", "dot.png"), ("--image", "notes.txt"), ("-f", "none"), ("-f", ".")):
        with subtests.test(wrong=wrong):
            assert manus("run", *wrong, "look").code == 2


SEALED = "gAAAAB" * 50_000
DETAILS = [
    {"type": "reasoning.text", "text": "I think of it.", "signature": SEALED, "index": 0},
    {"type": "reasoning.encrypted", "data": SEALED, "id": "rs_1", "index": 1},
]
ECHO = {"name": "bash", "arguments": '{"command": "echo hi"}'}
SIGNED = {"google": {"thought_signature": SEALED}}
CALL = {"index": 0, "id": "c", "type": "function", "function": ECHO, "extra_content": SIGNED}
SAYS = {"role": "assistant", "content": "I say hi.", "reasoning_details": DETAILS}


def test_on_the_command_line(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.strict = False
    server.script(
        reply_stream(build_chunk({**SAYS, "tool_calls": [CALL]}), build_chunk({}, "tool_calls")),
        text("Done."),
    )
    result = manus("run", "say hi", "--thread", "t", "--json")
    assert (result.code, result.json["output"]) == (0, "Done.")
    listing = manus("show", "t")
    report = manus("report", "t", "--output", "-")
    for shown_there in (result.out, result.err, listing.out, report.out):
        with subtests.test(shown_there=shown_there):
            assert "gAAAAB" not in shown_there
    assert "I say hi." in result.err
    assert "echo hi" in listing.out
    assert server.requests[-1].raw.count(SEALED.encode()) == 3


def test_two_megabytes_are_read_from_stdin(manus: Program, server: ScriptedServer) -> None:
    pasted = "What is this?\n" + "一只敏捷的棕色狐狸 jumped over.\n" * 60_000
    server.script(text("A fox."))
    result = manus("run", "--thread", "long", stdin=pasted)
    assert (result.code, result.out.strip()) == (0, "A fox.")
    [request] = server.requests
    content = str(request.messages[1]["content"])
    assert len(content) < len(pasted) / 4
    [place] = re.findall(r"characters left out; all [\d,]+ are in (\S+) …\]", content)
    assert (manus.workspace / place).read_text("utf-8").strip() == pasted.strip()
    stored = manus("show", "--json", "long").json["messages"][0]["text"]
    assert stored.strip() == pasted.strip()


def _records(manus: Program) -> set[str]:
    archives = (manus.home / ".local/state/manus/workspaces").glob("*/archive/*")
    journals = manus.database.with_name(f"{manus.database.name}.journal").glob("*")
    return {path.name for path in (*archives, *journals)}


def test_a_compaction_is_reported_and_its_archive_deleted_with_the_thread(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.when(mentions(prompts.SUMMARIZER[:40])).always(text("- Counted. [#1]"))
    overflow = fail(400, code="context_length_exceeded")
    for thread in ("a", "a:b"):
        with subtests.test(thread=thread):
            counts = [calls(call("bash", command=f"seq {n} {n + 1_300}")) for n in range(3)]
            server.script(*counts, overflow, text("Done."))
            counted = manus("run", "--thread", thread, "Count.")
            assert counted.code == 0
            pattern = r"^  context Older turns were summarized: about ([\d,]+) → ([\d,]+) tokens$"
            [figures] = re.findall(pattern, counted.err, re.MULTILINE)
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
