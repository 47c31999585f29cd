"""`manus replay`: a stored thread is run again, and the first step that differs is shown."""

import json

import pytest

from tests.cli.program import Program
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.server import Call, Request, ScriptedServer, call, calls, text

EDIT = {"command": "str_replace", "path": "a.txt", "old_str": "one", "new_str": "two"}
PROFILE = """
[profiles.own]
tools = ["bash", "str_replace_editor", "python_execute", "terminate"]
"""
TOOL = '''
def post(line: str) -> str:
    """Post a line."""
    with open(PATH, "a") as posts:
        posts.write(line)
    return "posted"
'''


@pytest.fixture
def thread(manus: Program, server: ScriptedServer) -> Program:
    """Provide a thread of two runs that read and change a file, with failed calls."""
    manus.workspace.mkdir()
    (manus.home / "manus.toml").write_text(PROFILE)
    (manus.workspace / "a.txt").write_text("one\n")
    server.script(
        calls(call("bash", command="cat a.txt; date; pwd"), call("str_replace_editor", EDIT)),
        call("bash", command="cat a.txt; exit 3"),
        call("bash", raw='{"command": '),
        call("terminate", status="success", answer="Changed."),
    )
    assert manus("run", "--thread", "t", "--profile", "own", "Change it.").code == 0
    code = "print(open('a.txt').read())"
    server.script(
        call("python_execute", code=code), call("terminate", status="success", answer="Two.")
    )
    assert manus("run", "--thread", "t", "What is it?").code == 0
    return manus


def test_the_same_and_the_first_difference(
    thread: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    requests = len(server.requests)
    with subtests.test("the same"):
        result = thread("replay", "t")
        assert (result.code, result.out) == (0, ""), result.out
        assert "All steps are as recorded." in result.err
    with subtests.test("another tool"):
        (thread.home / "manus.toml").write_text(PROFILE.replace('"str_replace_editor", ', ""))
        result = thread("replay", "t")
        assert result.code == 1
        assert result.out.startswith("Step 1 differs in its observation:\n--- recorded\n+++ now\n")
        assert "\n-Edited a.txt" in result.out
        assert "\n+There is no tool `str_replace_editor`" in result.out
    assert len(server.requests) == requests, "no model is asked"
    assert (thread.workspace / "a.txt").read_text() == "two\n", "the workspace is left alone"
    assert len(json.loads(thread("threads", "--json").out)) == 1, "and so is the store"


def test_what_came_from_outside_is_not_repeated(manus: Program, server: ScriptedServer) -> None:
    posts = manus.home / "posts"
    (manus.home / "tools.py").write_text(TOOL.replace("PATH", repr(str(posts))))
    (manus.home / "manus.toml").write_text(
        '[profiles.poster]\ntools = ["tools:post", "bash", "ask_human", "delegate", "terminate"]\n'
    )

    def answer(_: Request) -> Call:
        assert manus("send", "t", "In red.").code == 0
        return call("bash", command="true")

    server.script(
        call("post", line="x"),
        call("ask_human", inquire="Which?"),
    )
    options = ("--thread", "t", "--profile", "poster")
    assert manus("run", *options, "Post it.").code == 1
    server.script(answer, call("terminate", status="success", answer="Posted."))
    assert manus("resume", "t", "--answer", "the first").code == 0
    assert posts.read_text() == "x"
    result = manus("replay", "t")
    assert (result.code, result.out) == (0, ""), result.out
    assert "All steps are as recorded." in result.err
    assert posts.read_text() == "x"


def test_other_threads(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="true"))
    assert manus("run", "--thread", "stopped", "--max-steps", "1", "Do it.").code == 1
    result = manus("replay", "stopped")
    assert (result.code, result.out) == (0, ""), "it ended at a limit, so more steps may follow"
    server.when(is_planner, makes("First"))
    server.when(is_step("First"), succeeds("first"))
    server.when(is_summary, text("Done."))
    assert manus("flow", "--thread", "plan", "Do it.").code == 0
    result = manus("replay", "plan")
    assert result.code == 2
    assert "The thread plan is a flow; it cannot be replayed." in result.err
