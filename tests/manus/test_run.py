"""`manus run` with pipes: what comes on stdout, what on stderr, and the exit code."""

import json
import re
from copy import copy
from pathlib import Path

import pytest

from tests.manus.program import Program
from tests.server import ScriptedServer, call, calls, fail, text

KEYS = {"thread_id", "status", "stop_reason", "success", "output", "results", "usage"}
COUNTS = {"input_tokens", "output_tokens", "model_calls", "tool_calls", "seconds"}


def test_an_answer(manus: Program, server: ScriptedServer) -> None:
    server.script(text("Hello to you."))
    result = manus("run", "--thread", "t", "Say hello")
    assert (result.code, result.out) == (0, "Hello to you.\n")
    assert server.requests[0].messages[-2]["content"] == "Say hello"
    first, _, rest = result.err.partition("\n")
    assert re.fullmatch(rf"Working in {manus.workspace} \(sandbox: (bubblewrap|landlock)\)", first)
    assert rest.startswith("Step 1/60\n  model ")
    assert "\x1b" not in result.err
    assert all(
        len(line) <= 80
        for line in result.err.splitlines()
        if "files in" not in line and "Working in" not in line
    )
    assert "Finished: 1 step, " in result.err
    [log] = manus.home.rglob("manus.log")
    assert "thread t: answered" in log.read_text()
    assert "Say hello" not in log.read_text(), "what a person asks stays in the threads"


def test_a_tool_and_its_lines(manus: Program, server: ScriptedServer) -> None:
    server.script(
        calls(
            call("bash", command="echo made > a.txt; echo done"),
            call("str_replace_editor", command="view", path="gone.py"),
            text="I make a file.",
        ),
        calls(call("terminate", status="success"), text="The file is there."),
    )
    result = manus("run", "make", "a", "file", "--workspace", "elsewhere")
    assert (result.code, result.out) == (0, "The file is there.\n")
    assert (manus.home / "elsewhere" / "a.txt").read_text() == "made\n"
    assert "  call    bash: echo made > a.txt; echo done\n" in result.err
    assert "  done    bash echo made > a.txt" in result.err, result.err
    assert "  failed  str_replace_editor view gone.py, " in result.err
    assert f"files in {manus.home / 'elsewhere'}" in result.err
    assert "resume" not in result.err


def test_json_is_one_object_on_the_last_line_and_nothing_else(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(call("bash", command="echo hi"), text("Line one.\nLine two.\x1b[31m"))
    result = manus("run", "--json", "--thread", "my thread", "Say hi")
    assert result.code == 0
    assert result.out.count("\n") == 1
    assert "\x1b" not in result.out
    assert set(result.json) == KEYS
    assert set(result.json["usage"]) >= COUNTS
    assert result.json["thread_id"] == "my thread"
    assert (result.json["status"], result.json["stop_reason"]) == ("finished", "answered")
    assert result.json["success"] is True
    assert result.json["output"].startswith("Line one.\nLine two.")
    assert len(result.json["results"]) == 2
    usage = result.json["usage"]
    assert (usage["model_calls"], usage["tool_calls"]) == (2, 1)
    assert "Step 1/60" in result.err


def test_a_refused_key_is_a_sentence_and_exit_code_1(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(fail(401))
    result = manus("run", "--json", "Hello", MANUS_API_KEY="very-secret")
    assert result.code == 1
    assert (result.json["status"], result.json["stop_reason"]) == ("error", "error")
    assert "refused the key (401)" in result.json["output"]
    assert "very-secret" not in result.out + result.err
    assert "Traceback" not in result.err


def test_the_request_comes_from_stdin(manus: Program, server: ScriptedServer) -> None:
    server.script(text("a"), text("b"), text("c"))
    assert manus("run", stdin="  Say grüße\n").code == 0
    assert manus("run", "-", stdin="and more\nlines").code == 0
    asked = [request.messages[-2]["content"] for request in server.requests]
    assert asked == ["Say grüße", "and more\nlines"]
    # beside words it is attached
    assert manus("run", "review this", stdin="-old\n+new\n").code == 0
    asked = [str(server.requests[-1].messages[-2]["content"])]
    assert asked[0].startswith("review this\n")
    assert "\n-old\n+new\n" in asked[0]


def test_json_is_an_object_where_nothing_could_begin(bare: Program) -> None:
    for arguments in (["run", "--json", "x"], ["flow", "--json", "--max-steps", "0", "x"]):
        result = bare(*arguments)
        assert (result.code, set(result.json)) == (2, KEYS)
        assert (result.json["status"], result.json["success"]) == ("error", False)


def test_the_workspace_is_the_current_folder_in_a_project(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(text("There."), text("There."), text("There."))
    (manus.home / "empty").mkdir()
    (manus.home / "mine").mkdir()
    (manus.home / "mine/notes.txt").write_text("mine")
    (manus.home / "repository/.git").mkdir(parents=True)
    folders = {"empty": "empty/workspace", "mine": "mine", "repository": "repository"}
    for folder, place in folders.items():
        there = copy(manus)
        there.home = manus.home / folder
        err = there("run", "where?").err
        assert err.startswith(f"Working in {manus.home / place} (")
        assert (manus.home / place / ".manus/.gitignore").read_text() == "*\n"


def test_a_second_run_on_a_thread(manus: Program, server: ScriptedServer) -> None:
    server.script(
        call("bash", command="echo first > f"),
        text("One."),
        call("bash", command="cat f"),
        text("Two."),
    )
    first = manus("run", "--json", "--workspace", "place", "--max-steps", "2", "First")
    again = manus("run", "--json", "--thread", first.thread, "Second")
    assert (again.code, again.json["output"]) == (0, "Two.")
    assert len(again.json["results"]) == 2
    assert again.json["usage"]["model_calls"] == 2
    said = [message["content"] for message in server.requests[-1].messages]
    assert "First" in said
    assert "Second" in said
    # it works where the thread has worked before
    assert any(str(content).startswith("first\n") for content in said)
    assert not manus.workspace.exists()


def test_record_and_replay(manus: Program, server: ScriptedServer, bare: Program) -> None:
    server.script(call("bash", command="echo 1 > one"), text("Written."))
    assert manus("run", "--record", "turns.jsonl", "Write one").code == 0
    (manus.workspace / "one").unlink()
    result = bare("run", "--or-replay", "turns.jsonl", "Write one")
    assert (result.code, result.out) == (0, "Written.\n")
    assert result.err.startswith("No model is configured (")
    assert result.err.splitlines()[2] == "Step 1/60"
    assert (bare.workspace / "one").read_text() == "1\n"
    assert len(server.requests) == 2


def test_settings_from_files(bare: Program, server: ScriptedServer) -> None:
    server.script(text("a"), text("b"))
    server.models = ["of-env-file", "of-flag"]
    (bare.home / "manus.toml").write_text('workspace = "from-toml"\nmodel = "of-toml"\n')
    (bare.home / ".env").write_text(f"MANUS_BASE_URL={server.base_url}\nMANUS_MODEL=of-env-file\n")
    assert bare("run", "hello").code == 0
    assert bare("run", "hello", "--model", "of-flag", MANUS_MODEL="of-environment").code == 0
    assert [request.body["model"] for request in server.requests] == ["of-env-file", "of-flag"]
    assert (bare.home / "from-toml").is_dir()


def test_an_unexpected_error_is_a_sentence_with_the_place_of_its_traceback(
    manus: Program, server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, importlib.abc\n"
        "class Broken(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'manus.graph': raise RuntimeError('a broken installation')\n"
        "sys.meta_path.insert(0, Broken())\n"
    )
    path = f"{tmp_path}:{manus.environment['PYTHONPATH']}"
    result = manus.cold("graph", PYTHONPATH=path)
    assert result.code == 1
    assert result.err.startswith(
        "manus: Something unexpected went wrong (RuntimeError: a broken installation); "
    )
    assert result.err.count("\n") == 1
    log = Path(result.err.partition("traceback is in ")[2].partition(" (MANUS_DEBUG")[0])
    assert "RuntimeError: a broken installation" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_bytes_that_are_no_text(manus: Program, server: ScriptedServer) -> None:
    server.script(text("A nul \x00, a line \u2028 end."))
    result = manus("run", "--json", "hello \udcff")
    assert result.code == 0
    assert server.requests[0].messages[-2]["content"] == "hello \ufffd"
    assert json.loads(result.out)["output"] == "A nul ␀, a line \u2028 end."


# With results too long for the buffer the fault shows while they are printed, else at the end.
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("size", [5, 50_000])
def test_a_stdout_without_room(manus: Program, server: ScriptedServer, size: int) -> None:
    answer = " ".join(map(str, range(size)))[:size].strip()  # nothing is said over and over in it
    server.script(text(answer))
    with (
        Path("/dev/full").open("wb") as full,
        manus.start("run", "--thread", "t", "hello", out=full.fileno()) as process,
    ):
        result = process.end()
    assert result.code == 1
    assert "manus: stdout cannot be written to (No space left on device), " in result.err
    assert "Traceback" not in result.err
    assert "unexpected" not in result.err
    assert answer in manus("show", "t").out


def test_streams_that_the_caller_has_closed(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo made > a"), text("Hi."))
    prefix = ("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")
    result = manus.cold("run", "--thread", "t", "hello", prefix=prefix)
    assert (result.code, result.out) == (0, "")
    assert (manus.workspace / "a").exists()
    assert "Hi." in manus("show", "t").out


def test_files_and_pictures_are_attached(manus: Program, server: ScriptedServer) -> None:
    (manus.home / "notes.txt").write_text("wörds\n")
    (manus.home / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    server.script(text("Read."), text("Seen."))
    assert manus("run", "-f", "notes.txt", "-f", "notes.txt", "look").code == 0
    said = str(server.requests[0].messages[-2]["content"])
    assert said.startswith("look\n\n<file name")
    assert said.count("wörds") == 2
    assert manus("run", "--image", "dot.png", "look").code == 0
    words, picture = server.requests[1].messages[-2]["content"]
    assert (words["text"], picture["type"]) == ("look", "image_url")
    for wrong in (("-f", "dot.png"), ("--image", "notes.txt"), ("-f", "none"), ("-f", ".")):
        assert manus("run", *wrong, "look").code == 2


def test_what_another_agent_does_is_seen_inside_its_call(
    manus: Program, server: ScriptedServer
) -> None:
    inner = server.when(
        lambda request: "Count the files." in str(request.messages[1]["content"]),
        call("bash", command="echo seven"),
        text("Seven files."),
    )
    server.script(call("delegate", task="Count the files.", profile="swe"), text("Seven."))
    result = manus("run", "--json", "How many files are there?")
    assert result.json["output"] == "Seven."
    assert (result.json["usage"]["model_calls"], result.json["usage"]["tool_calls"]) == (4, 2)
    assert not inner.left
    lines = [line.split() for line in result.err.splitlines()]
    assert ["call", "delegate:", "Count", "the", "files."] in lines
    assert ["swe:", "bash:", "echo", "seven"] in lines
    shown = manus("show", "-c").out
    assert shown.index("call  bash: echo seven") < shown.index("result: Seven files.")
