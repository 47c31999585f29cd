"""`manus threads` and `manus show`."""

import re

import pytest

from tests.cli.program import Program
from tests.flow.helpers import gives_up
from tests.server import ScriptedServer, call, calls, fail, text

COUNTS = f"seq 1 30 {'#' * 80}"
THREE = (
    "Three: an answer that is longer than what is shown of the arguments of a call, and ends here."
)


def test_threads_are_listed_shown_and_deleted(manus: Program, server: ScriptedServer) -> None:
    none = manus("threads")
    assert (none.code, none.out) == (0, "")
    assert none.err == f"There are no threads yet in {manus.database}.\n"
    assert manus("threads", "--json").json == []
    counts = calls(call("bash", command=COUNTS, timeout=9), text="I count.")
    three = call("terminate", status="success", answer=THREE)
    server.script(text("One."), counts, gives_up("No further."), three)
    manus("run", "--thread", "first", "Say\none \x1b[31mred")
    manus("run", "--thread", "second", "Count to thirty")
    manus("run", "--thread", "third", "--max-steps", "5", "Say three")
    head, third, second, first = (line.split() for line in manus("threads").out.splitlines())
    assert head == ["THREAD", "STATUS", "STEPS", "SIZE", "AGE", "REQUEST"]
    assert (third[0], second[:4]) == ("third", ["second", "no", "success", "2"])
    assert (first[:3], first[7:]) == (["first", "finished", "1"], ["Say", "one", "red"])
    _, data = manus("threads", "--json", "--limit", "2").json
    facts = {"thread_id": "second", "request": "Count to thirty", "workspace": str(manus.workspace)}
    assert data.items() >= facts.items()
    listing = manus("show", "second").out.splitlines()
    assert listing[0] == f"Thread second, no success, files in {manus.workspace}"
    assert {"user: Count to thirty", "agent: I count.", f"  call  bash: {COUNTS}"} <= set(listing)
    assert "    30" not in listing
    assert "    30" in manus("show", "--full", "second").out.splitlines()
    assert "\x1b" not in manus("show", "first").out
    assert f"agent: {THREE}" in manus("show", "third").out.splitlines()
    roles = [message["role"] for message in manus("show", "--json", "second").json["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]
    assert manus("threads", "--delete", "first", "--delete", "third").code == 0
    assert [t["thread_id"] for t in manus("threads", "--json").json] == ["second"]
    assert manus("show", "first").code == 2


def test_why_a_thread_failed(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.script(fail(401))
    failed = manus("run", "--json", "--thread", "t", "Hello", MANUS_API_KEY="very-secret")
    assert failed.code == 1
    assert (failed.json["status"], failed.json["stop_reason"]) == ("error", "error")
    assert "refused the key (401)" in failed.json["output"]
    assert not re.search("very-secret|Traceback", failed.out + failed.err)
    assert "manus resume t\n" in failed.err
    assert "\nFailed: The model server at " in manus("show", "t").out
    assert manus("report", "t", "-o", "t.html").code == 0
    page = (manus.home / "t.html").read_text()
    for part in ("Error</h2><pre", "refused the key (401)", "No steps."):
        with subtests.test(part=part):
            assert part in page
    server.script(text("Done."))
    result = manus("resume", "t", "--json")
    assert (result.code, result.json["output"], len(result.json["results"])) == (0, "Done.", 1)


def test_a_thread_is_selected_as_the_newest_or_by_a_prefix(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.script(text("One."), text("Two."), text("Three."), text("Four."))
    manus("run", "--thread", "alpha-1", "Say one")
    manus("run", "--thread", "alpha-2", "Say two")
    thread = manus("run", "--json", "Say three").thread
    assert manus("run", "-c", "--json", "And four").thread == thread
    assert len(server.requests[-1].messages) > len(server.requests[-2].messages)
    assert manus("show", "--json", "-c").json["output"] == "Four."
    assert manus("show", "--json", "alpha-2").json["output"] == "Two."
    assert manus("resume", "--json", thread[:4]).json["output"] == "Four."
    manus("report", "--last")
    assert (manus.home / f"{thread}.html").exists()
    # a new thread's name is not a prefix of an older one, unless it looks like a generated id
    server.script(text("Five."), text("Six."))
    assert manus("run", "--thread", thread[:5], "--json", "Say five").thread == thread
    assert manus("run", "--thread", "alpha", "--json", "Say six").thread == "alpha"
    assert manus("threads", "--delete", "alpha").code == 0
    [newest, *_] = manus("threads", "--json").json
    assert (newest["thread_id"], newest["request"]) == (thread, "Say three")
    for wrong in (("alpha",), ("x",), (), ("-c", thread)):
        with subtests.test(wrong=wrong):
            assert manus("show", *wrong).code == 2
