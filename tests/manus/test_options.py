"""The options of `run` mean the same to `flow` and to `resume`."""

from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.manus.program import Program, wait_for_file
from tests.server import ScriptedServer, call, text

SWE = ["bash", "str_replace_editor", "terminate"]


def test_of_a_flow(manus: Program, server: ScriptedServer) -> None:
    server.when(is_planner, makes("alpha"))
    server.when(is_step("alpha"), call("bash", command="echo made > a"), succeeds("Alpha done."))
    server.when(is_summary, text("All is done."))
    options = ["--workspace", "place", "--max-steps", "2", "--profile", "swe", "--quiet"]
    more = ["--model", "openai:of-flag", "--record", "turns.jsonl", "--thread", "t", "--json"]
    result = manus("flow", *options, *more, "Do it.", MANUS_PROFILE="browser", MANUS_MAX_STEPS="1")
    assert (result.code, result.err) == (0, "")
    assert (result.thread, result.json["output"]) == ("t", "All is done.")
    assert (manus.home / "place" / "a").read_text() == "made\n"
    assert {request.body["model"] for request in server.requests} == {"of-flag"}
    [step, _] = [request for request in server.requests if is_step("alpha")(request)]
    assert step.tool_names == SWE
    assert len((manus.home / "turns.jsonl").read_text().splitlines()) >= 4
    assert not manus.workspace.exists()


def test_of_a_resume(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo begun > begun; sleep 300"))
    with manus.start("run", "--thread", "t", "--max-steps", "3", "work") as process:
        wait_for_file(manus.workspace / "begun")
        process.kill()
        process.end()
    server.script(call("bash", command="echo on > on"), text("Done."))
    options = ["--workspace", "place", "--max-steps", "9", "--profile", "swe"]
    more = ["--model", "of-flag", "--record", "turns.jsonl", "--json"]
    result = manus("resume", *options, *more, "t")
    assert (result.code, result.json["output"]) == (0, "Done.")
    assert "Step 2/9" in result.err
    assert (manus.home / "place" / "on").read_text() == "on\n"
    last = server.requests[-1]
    assert (last.body["model"], last.tool_names) == ("of-flag", SWE)
    assert str(manus.home / "place") in str(last.messages[0]["content"])
    assert (manus.home / "turns.jsonl").read_text()
