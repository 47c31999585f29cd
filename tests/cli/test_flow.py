"""`manus flow`: the plan as it advances, its approval at the prompt, and resuming it."""

import re

from rich.cells import cell_len

from tests.cli.program import Program, wait_for_file
from tests.flow.helpers import free, is_planner, is_step, is_summary, makes, succeeds
from tests.server import ScriptedServer, call, text


def test_one_line_per_change_and_show_includes_each_step(
    manus: Program, server: ScriptedServer
) -> None:
    server.when(is_planner, makes("alpha", "beta"))
    server.when(is_step("alpha"), call("bash", command="echo 42"), succeeds("It is 42."))
    server.when(is_step("beta"), succeeds("Beta done."))
    server.when(is_summary, text("All is done."))
    result = manus("flow", "--thread", "t", "Do", "it.")
    assert (result.code, result.out) == (0, "All is done.\n")
    lines = [line.split(",")[0] for line in result.err.splitlines()]
    progress = [line for line in lines if line.startswith(("plan ", "step "))]
    assert progress[:5] == [
        "plan    made: Trip (ID: p)",
        "step 0  started by manus: alpha",
        "step 0  completed",
        "step 1  started by manus: beta",
        "step 1  completed",
    ]
    assert "Finished: 2 steps, " in result.err
    assert "\x1b" not in result.err
    listing = manus("show", "t").out
    assert "0. [✓] alpha\n1. [✓] beta" in listing
    assert (
        listing.index("call  bash: echo 42")
        < listing.index("It is 42.")
        < listing.index("Beta done.")
    )
    data = manus("show", "t", "--json").json
    assert [step["text"] for step in data["plan"]["steps"]] == ["alpha", "beta"]
    assert [len(messages) for messages in data["steps"].values()] == [5, 3]
    refused = manus("run", "--thread", "t", "And more.")
    assert (refused.code, "manus flow --thread t" in refused.err) == (2, True)


def test_the_plan_is_redrawn_on_a_terminal(manus: Program, server: ScriptedServer) -> None:
    """With the usage and cost of its steps, which are never truncated, unlike a step's text."""
    (manus.home / "manus.toml").write_text("[prices.scripted]\ninput = 1000.0\noutput = 1.0\n")
    long = "宽" * 60
    server.when(is_planner, makes("alpha", long))
    server.when(is_step("alpha"), call("bash", command="echo made"), succeeds("Alpha done."))
    server.when(is_step(long), succeeds())
    server.when(is_summary, text("All is done."))
    with manus.terminal("flow", "Do it.") as terminal:
        terminal.expect("All is done.")
        terminal.expect("Finished")
        output = terminal.raw
    assert "0. [→] alpha" in output
    used = r"\([\d,]+ tokens, \$\d+\.\d+\)"
    assert re.search(rf"0\. \[✓\] alpha {used}\S*\r\n\S*1\. \[[→✓]\] 宽", output)
    [cut] = [line for line in terminal.text.splitlines() if line.startswith("1. [✓] 宽")]
    assert re.search(rf"宽… {used}$", cut)
    assert cell_len(cut) <= 80
    assert terminal.text.count("0. [") == 1, "it is redrawn in place"


def test_resume_continues_a_killed_flow(manus: Program, server: ScriptedServer) -> None:
    server.when(is_planner, makes(free("alpha"), free("beta")))
    server.when(is_step("alpha"), call("bash", command="echo one >> a.txt"), succeeds())
    wait = "until [ -e release ]; do sleep 0.05; done"
    beta = server.when(is_step("beta"), call("bash", command=f"echo x > begun; {wait}"))
    with manus.start("flow", "--thread", "t", "Do it.") as process:
        wait_for_file(manus.workspace / "begun")
        process.expect("\nstep 0  completed")
    (manus.workspace / "release").touch()
    beta.script(succeeds())
    server.when(is_summary, text("All is done."))
    result = manus("resume", "t", "--json")
    assert (result.code, result.json["stop_reason"]) == (0, "completed")
    assert (manus.workspace / "a.txt").read_text() == "one\n"
    assert len([r for r in server.requests if is_planner(r)]) == 1


def test_a_plan_is_changed_at_the_terminal(manus: Program, server: ScriptedServer) -> None:
    server.when(is_planner, makes("look", "leap"))
    server.when(is_step("looked"), succeeds("Looked."))
    server.when(is_summary, text("Looked."))
    with manus.terminal("flow", "--approve-plan", "Cross it.") as terminal:
        terminal.expect_last("Tab changes  Ctrl-D later")
        terminal.type("e\r")
        terminal.expect_last("» look\nleap")
        terminal.type("\x7f" * 5 + "ed\r")
        assert terminal.wait() == 0, terminal.text
    assert "0. [✓] looked" in terminal.text
