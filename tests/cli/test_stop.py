"""Stopped, killed, interrupted, resumed: nothing is lost, and nothing is done twice."""

import os
import re
import signal
from typing import Any

import pytest

from tests.cli.program import Program, wait_for_file
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.helpers.processes import processes_in, until
from tests.server import ScriptedServer, call, calls, text

# A command that announces itself, and then runs longer than any test.
SLOW = "echo $$ > pid; echo ran >> runs; sleep 300"


# Sends Ctrl-C to itself during its imports, where an exception would be lost.
INTERRUPTED = """\
import contextlib, os, signal, sys, importlib.abc
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
class Moment(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "langgraph.graph" and "manus.cli.entry" in sys.modules:
            with contextlib.suppress(BaseException):
                os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Moment())
"""


def test_ctrl_c_before_the_first_request(manus: Program, server: ScriptedServer) -> None:
    (manus.home / "sitecustomize.py").write_text(INTERRUPTED)
    path = f"{manus.home}{os.pathsep}{manus.environment['PYTHONPATH']}"
    result = manus.cold("run", "hello", PYTHONPATH=path)
    assert (result.code, result.out, "Traceback" in result.err) == (130, "", False)
    assert server.requests == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_run_and_its_children_and_resume_continues(
    manus: Program, server: ScriptedServer, number: int, code: int
) -> None:
    server.script(call("bash", command="echo one > one"), call("bash", command=SLOW))
    with manus.start("run", "--json", "--thread", "t", "work") as process:
        wait_for_file(manus.workspace / "pid")
        process.send_signal(number)
        stopped = process.end()
    assert (stopped.code, stopped.json["thread_id"], stopped.json["success"]) == (code, "t", False)
    assert stopped.json["usage"]["model_calls"] == 2
    assert "Resume with: manus resume t\n" in stopped.err
    assert "Traceback" not in stopped.err
    assert processes_in(manus.workspace) == []
    server.script(text("It had begun; I leave it at that."))
    resumed = manus("resume", "--json", "t")
    assert (resumed.code, resumed.json["stop_reason"]) == (0, "answered")
    assert (manus.workspace / "runs").read_text() == "ran\n"
    assert len(server.requests[2].tool_results) == 2
    assert len(server.requests) == 4, "the answer was sent back once"


async def test_a_second_ctrl_c_ends_at_once(manus: Program, server: ScriptedServer) -> None:
    # a shell that ignores SIGTERM delays the clean shutdown
    server.script(call("bash", command="trap '' TERM INT HUP; " + SLOW))
    with manus.start("run", "--thread", "t", "work") as process:
        wait_for_file(manus.workspace / "pid")
        process.send_signal(signal.SIGINT)
        process.expect("Stopping")
        process.send_signal(signal.SIGINT)
        assert process.end().code == 130
    # the program does not wait for processes that the kernel ends with it
    await until(lambda: not processes_in(manus.workspace))


def test_killed_in_a_tool(manus: Program, server: ScriptedServer) -> None:
    server.script(calls(call("bash", command="echo one >> log"), call("bash", command=SLOW)))
    options = ("--workspace", "place", "--max-steps", "7", "--thread", "t")
    with manus.start("run", *options, "work"):
        wait_for_file(manus.home / "place" / "runs")
    thread, status, steps, *_, request = manus("threads").out.splitlines()[1].split()
    assert (thread, status, steps, request) == ("t", "unfinished", "1", "work")
    server.script(call("bash", command="cat log runs"), text("All there."))
    resumed = manus("resume", "t")
    assert (resumed.code, resumed.out) == (0, "All there.\n")
    assert "Step 2/7" in resumed.err
    page = manus("report", "t", "-o", "-").out
    assert page.count("Stopped here and resumed") == 1
    assert '<span class="pill good">Finished</span>' in page
    assert (manus.home / "place" / "log").read_text() == "one\n"
    assert (manus.home / "place" / "runs").read_text() == "ran\n"
    assert not manus.workspace.exists()
    messages = server.requests[1].messages
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert "was not executed again" in str(messages[4]["content"])


def test_two_processes_on_one_thread(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.script(call("bash", command=SLOW))
    with manus.start("run", "--thread", "t", "work") as process:
        wait_for_file(manus.workspace / "runs")
        for arguments in (["run", "--thread", "t", "more"], ["resume", "t"]):
            with subtests.test(arguments=arguments):
                second = manus(*arguments)
                message = f"manus: The thread t is in use by process {process.pid}; "
                assert (second.code, second.err.startswith(message)) == (2, True)
        assert manus("threads", "--delete", "t").code == 2
        assert manus("threads").out.splitlines()[1].split()[1] == "running"
        server.script(text("Another thread."))
        assert manus("run", "--thread", "other", "--workspace", "elsewhere", "hi").code == 0
    assert len(server.requests) == 2


def test_a_question_without_a_terminal_waits_for_its_answer(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(call("ask_human", inquire="Which colour?"), text("Blue it is."))
    result = manus("run", "--thread", "t", "paint it")
    assert (result.code, result.out) == (1, "Which colour?\n")
    assert "Waiting for an answer: 1 step" in result.err
    assert result.err.endswith("Answer with: manus resume t --answer TEXT\n")
    assert "waiting" in manus("threads").out
    again = manus("resume", "t", "--json")
    assert (again.code, again.json["stop_reason"]) == (1, "interrupted")
    assert again.json["output"] == "Which colour?"
    answered = manus("resume", "t", "--answer", "blue")
    assert (answered.code, answered.out) == (0, "Blue it is.\n")
    assert server.requests[1].messages[-2]["content"] == "blue"
    assert len(server.requests) == 3, "the answer was sent back once"


def test_several_questions_are_answered_in_the_order_of_show(
    manus: Program, server: ScriptedServer
) -> None:
    asks = [call("ask_human", inquire=f"Which {subject}?") for subject in ("colour", "size", "day")]
    server.when(is_planner, makes("paint"))
    server.when(is_step("paint"), calls(*asks), succeeds())
    server.when(is_summary, text("Painted."))
    assert manus("flow", "--thread", "t", "paint it").code == 1
    listing = manus("show", "t").out
    questions = re.findall(r"^\d\. (W.*)$", listing, re.M)
    answers = [f"--answer={question}!" for question in questions]
    assert manus("resume", "t", *answers, "--answer=x").code == 2
    assert manus("resume", "t", answers[0]).out.splitlines() == questions[1:]
    assert manus("resume", "t", *answers[1:]).out == "Painted.\n"
    step = next(request for request in server.requests if "Which day?!" in request.text)
    prompts = ["Which colour?!", "Which size?!", "Which day?!"]
    assert [*step.tool_results.values()] == prompts


def test_a_run_out_of_steps_is_resumed(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo ran >> runs"), call("bash", command="echo 2"))
    first = manus("run", "--json", "--thread", "t", "--max-steps", "1", "do")
    assert (first.code, first.json["stop_reason"]) == (1, "max_steps")
    assert first.json["output"].endswith("Terminated: Reached max steps (1)")
    assert "Step 1/1" in first.err
    assert "Resume with: manus resume t\n" in first.err
    again = manus("resume", "--json", "t")
    assert again.json["stop_reason"] == "max_steps"
    assert len(again.json["results"]) == 2, "the same number of steps again"
    assert manus("resume", "t", "--max-steps", "2").code == 2
    server.script(text("Done."))
    result = manus("resume", "--json", "t", "--max-steps", "30")
    assert (result.code, result.json["output"], len(result.json["results"])) == (0, "Done.", 4)
    assert result.json["usage"]["model_calls"] == 4, "the answer was sent back once"
    assert (manus.workspace / "runs").read_text() == "ran\n"


def test_at_the_prompt_it_asks_for_more_steps(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo 1"), text("Done."))
    with manus.terminal("run", "--thread", "t", "--max-steps", "1", "do") as terminal:
        terminal.expect_last("  y 1 more step  n no  Enter answers")
        terminal.type("\r")
        assert terminal.wait() == 0
    assert "agent: Done." in manus("show", "t").out


@pytest.mark.parametrize(("stream", "code"), [("out", 1), ("err", 0)])
def test_the_reader_of_the_output_may_exit(
    manus: Program, server: ScriptedServer, stream: str, code: int
) -> None:
    answer = "\n".join(map(str, range(20_000)))
    server.script(text(answer))
    reading, writing = os.pipe()
    os.close(reading)
    streams: dict[str, Any] = {stream: writing}
    with manus.start("run", "--thread", "t", "count", **streams) as process:
        result = process.end()
    os.close(writing)
    assert (result.code, result.out) == (code, f"{answer}\n" if stream == "err" else "")
    assert not re.search("Traceback|BrokenPipe|unexpected", result.err)


def test_the_approval_mode_of_a_run_is_kept(manus: Program, server: ScriptedServer) -> None:
    echo = call("bash", command="echo hi >> said")
    server.script(echo, echo)
    with manus.terminal("run", "--thread", "t", "--approve", "ask", "say hi") as terminal:
        terminal.expect_last("Ctrl-D later")
        terminal.type("yes\n")
        terminal.expect("Step 2/")
        terminal.raw = terminal.raw.rpartition("Step 2/")[2]  # after the previous question
        terminal.expect_last("Ctrl-D later")
        terminal.type("\x04")
        assert terminal.wait() == 1
    server.script(text("Well."))
    assert manus("resume", "t", "--answer", "no: enough").out == "Well.\n"
    assert "enough" in str(server.requests[-1].messages)
    assert (manus.workspace / "said").read_text() == "hi\n"
    listing = manus("show", "t").out
    assert listing.count("asked: May the agent call `bash`") == 2
    assert "enough" in listing
    assert manus("run", "--approve", "never", "say hi").code == 2
