"""`manus send`: messages from another terminal to a thread during a run."""

import re
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.program import Program, Result
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.server import Request, ScriptedServer, call, fail, hang, text

LOOKS = call("bash", command="true")


def meanwhile(reply: Any, *actions: Callable[[], Any]) -> Callable[[Request], Any]:
    """Return a model reply before which something happens in another terminal."""

    def answer(_: Request) -> Any:
        for action in actions:
            action()
        return reply

    return answer


def test_the_agent_reads_it_at_its_next_step(manus: Program, server: ScriptedServer) -> None:
    results: list[Result] = []
    sends = meanwhile(LOOKS, lambda: results.append(manus("send", "t", "use", "tabs 世界")))
    server.script(sends, text("Done."))
    result = manus("run", "--thread", "t", "do it")
    assert (result.code, result.out) == (0, "Done.\n")
    assert results[0].code == 0
    assert "The agent reads it at its next step." in results[0].err
    assert re.search(r"Step 2/60.*\n  you     use tabs 世界\n", result.err)
    assert server.requests[1].messages[-2]["content"].endswith("\n\nuse tabs 世界")
    listing = manus("show", "t").out
    assert (
        listing.index("call  bash") < listing.index("user: use tabs 世界") < listing.index("Done.")
    )
    roles = [m["role"] for m in manus("show", "t", "--json").json["messages"]]
    # the answer is there twice, since it was sent back once
    assert roles == ["user", "assistant", "tool", "user", "assistant", "assistant"]


def test_queued_messages_are_the_next_requests_in_their_order(
    manus: Program, server: ScriptedServer
) -> None:
    results: list[Result] = []
    sends = meanwhile(
        LOOKS,
        lambda: results.append(manus("send", "t", "then sweep", "--queue")),
        lambda: results.append(manus("send", "-c", "and rest", "--queue")),
    )
    server.script(sends, text("Done."), text("Swept."), text("Rested."))
    outcome = manus("run", "--thread", "t", "do it")
    assert (outcome.code, outcome.out) == (0, "Done.\nSwept.\nRested.\n")
    assert all("next request when the current run ends" in result.err for result in results)
    assert "> then sweep\n" in outcome.err
    assert manus("show", "t").out.count("user: ") == 3


def test_unread_messages_are_listed_and_can_be_withdrawn(
    manus: Program, server: ScriptedServer
) -> None:
    results: dict[str, Result] = {}

    def act() -> None:
        for words in ("one", "two"):
            results[words] = manus("send", "t", words, "--queue", "--json")
        results["listed"] = manus("send", "t", "--list")
        results["shown"] = manus("show", "t")
        results["withdrawn"] = manus("send", "t", "--withdraw", results["one"].json["id"][:6])
        results["again"] = manus("send", "t", "--withdraw", results["one"].json["id"])

    server.script(meanwhile(text("Done."), act), text("Two."))
    assert manus("run", "--thread", "t", "do it").out == "Done.\nTwo.\n"
    listed = results["listed"].out.splitlines()
    assert [line.split()[0] for line in listed] == [results[w].json["id"] for w in ("one", "two")]
    assert "Unread messages:" in results["shown"].out
    assert results["withdrawn"].err == "Withdrawn: one\n"
    assert (results["again"].code, results["again"].out) == (2, "")
    assert "has already read it" in results["again"].err
    assert "no unread messages" in manus("send", "t", "--list").err
    assert manus("send", "t", "--list", "--json").json == []


def test_without_a_run_it_waits_for_the_next(manus: Program, server: ScriptedServer) -> None:
    server.script(text("Done."), text("Swept."))
    assert manus("run", "--thread", "t", "do it").code == 0
    result = manus("send", "t", stdin="sweep up")
    assert "No run is active on the thread; start it with: manus resume t" in result.err
    outcome = manus("resume", "t")
    assert (outcome.code, outcome.out) == (0, "Swept.\n")
    again = manus("resume", "t")
    assert "Nothing to resume" in again.err


def test_a_killed_run_is_resumed_with_it(manus: Program, server: ScriptedServer) -> None:
    server.script(hang(reply=text("Never."), after_chunks=0), text("Done."))
    with manus.start("run", "--thread", "t", "do it") as running:
        server.wait_for(1)
        assert manus("send", "t", "use tabs").code == 0
        running.send_signal(signal.SIGKILL)
        running.end()
    result = manus("resume", "t")
    assert (result.code, result.out) == (0, "Done.\n")
    assert server.requests[-1].raw.decode().count("use tabs") == 1


def test_a_failed_run_lists_unread_messages(manus: Program, server: ScriptedServer) -> None:
    server.script(meanwhile(fail(401), lambda: manus("send", "t", "sweep", "--queue")))
    result = manus("run", "--thread", "t", "do it")
    assert result.code == 1
    assert "resume t` reads the unread messages (1)." in result.err


def test_a_thread_that_waits_says_how_to_answer(manus: Program, server: ScriptedServer) -> None:
    server.script(call("ask_human", inquire="Which?"), text("Done."))
    assert manus("run", "--thread", "t", "ask").code == 1
    assert "manus resume t --answer TEXT" in manus("send", "t", "hurry").err
    assert manus("resume", "t", "--answer", "red").out == "Done.\n"
    answered = server.requests[1]
    assert [*answered.tool_results.values()] == ["red"]
    assert answered.messages[-2]["content"].endswith("hurry")


def test_in_a_plan_it_is_shown_where_the_step_reads_it(
    manus: Program, server: ScriptedServer
) -> None:
    server.when(is_planner, makes("alpha"))
    sends = meanwhile(LOOKS, lambda: manus("send", "t", "in Celsius"))
    server.when(is_step("alpha"), sends, succeeds())
    server.when(is_summary, text("All."))
    result = manus("flow", "--thread", "t", "do it")
    assert result.out == "All.\n"
    assert "  you     in Celsius\n" in result.err
    assert "user: in Celsius" in manus("show", "t").out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "Missing argument THREAD"),
        (("nowhere", "hello"), "There is no thread nowhere"),
        (("t",), "There is no request"),
        (("t", "--withdraw", ""), "no unread message"),
        (("t", "words", "--list"), "take no TEXT"),
    ],
)
def test_wrong_usage(
    manus: Program, server: ScriptedServer, arguments: tuple[str, ...], problem: str
) -> None:
    server.script(text("Done."))
    manus("run", "--thread", "t", "do it")
    result = manus("send", *arguments)
    assert result.code == 2
    assert problem in result.err
