"""Recording a model's turns and replaying them: the same run, or a clear error."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from manus.models.recording import Recorder, ReplayModel, normalize_messages
from manus.state.errors import ReplayMismatchError, SettingsError
from manus.state.messages import ephemeral, is_ephemeral
from tests.helpers.agent import ScriptedAgent
from tests.server import Scripted, call, calls, text, tokens

FILE = "turns.jsonl"
WORK: list[Scripted] = [
    calls(call("append", path="a", line="1"), call("poll"), text="First."),
    call("append", raw='{"path": "a", "line'),
    calls(call("append", path="a", line="2"), usage=tokens(100, 20, cached=64)),
    calls(call("terminate", status="success", answer="Done."), text="Two lines."),
]


@pytest.mark.parametrize("mode", ["values", "messages"], ids=["whole", "streamed"])
async def test_a_run_can_be_replayed(
    agent: ScriptedAgent, mode: Any, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    recorded = await agent.run(*WORK, record=FILE)
    agent.server.close()
    elsewhere = tmp_path / "elsewhere"
    settings = {"model": f"replay:{FILE}", "workspace": str(elsewhere)}
    await agent.parts(mode, thread="again", **settings)
    played = await agent.outcome("again")
    assert (played.stop_reason, played.output) == (recorded.stop_reason, recorded.output)
    assert played.results == recorded.results
    assert (elsewhere / "a").read_text() == "1\n2\n", "tools and files are real"
    for counted in ("input_tokens", "output_tokens", "cached_tokens", "model_calls", "tool_calls"):
        with subtests.test(counted=counted):
            assert played.usage[counted] == recorded.usage[counted]
    first, second = await agent.messages("t"), await agent.messages("again")
    assert normalize_messages(first, "nowhere") == normalize_messages(second, "nowhere")


async def test_the_workspace_path_is_adapted(agent: ScriptedAgent, tmp_path: Path) -> None:
    absolute = str(agent.workspace / "a")
    await agent.run(
        calls(call("append", path=absolute, line="1"), text=f"To {absolute}."),
        text(f"It is in {absolute}, not in {agent.workspace}bench."),
        record=FILE,
    )
    assert str(agent.workspace) + "/" not in Path(FILE).read_text()
    elsewhere = tmp_path / "quite" / "elsewhere"
    await agent.run(
        request="Do it.", thread="again", model=f"replay:{FILE}", workspace=str(elsewhere)
    )
    assert (elsewhere / "a").read_text() == "1\n"
    assert agent.lines("a") == ["1"]
    outcome = await agent.outcome("again")
    assert outcome.output == f"It is in {elsewhere}/a, not in {agent.workspace}bench."


async def test_another_conversation_fails_with_what_differs(agent: ScriptedAgent) -> None:
    colours = "red\n" * 200
    (agent.workspace / "b").write_text(f"{colours}blue\n")
    await agent.run(call("poll"), call("read", path="b"), text("Colours."), record=FILE)
    (agent.workspace / "b").write_text(f"{colours}green\n")
    (agent.workspace / "polled").unlink()
    outcome = await agent.run(thread="again", model=f"replay:{FILE}")
    assert (outcome.status, outcome.stop_reason) == ("error", "error")
    assert "does not contain this conversation" in outcome.output
    assert "message 5 of 5 is the first that differs" in outcome.output
    assert "red\\ngreen" in outcome.output
    assert "red\\nblue" in outcome.output.partition("recorded: ")[2]
    assert outcome.usage["model_calls"] == 2


async def test_a_stopped_run_pays_for_no_turn_twice(agent: ScriptedAgent, tmp_path: Path) -> None:
    """Its recording ends in the middle; where a result differs, the model is asked again."""
    whole = await agent.run(*WORK, record=FILE)
    lines = Path(FILE).read_text().splitlines(keepends=True)
    Path("stopped.jsonl").write_text("".join(lines[:2]) + lines[2][:40])
    asked = len(agent.server.requests)
    elsewhere = str(tmp_path / "elsewhere")
    settings = {"reuse": "stopped.jsonl", "workspace": elsewhere, "record": "again.jsonl"}
    resumed = await agent.run(*WORK[2:], thread="resumed", **settings)
    assert (resumed.output, resumed.results) == (whole.output, whole.results)
    assert len(agent.server.requests) - asked == 2
    assert resumed.usage["model_calls"] == whole.usage["model_calls"], "as of the whole attempt"
    again = Path("again.jsonl").read_text().splitlines(keepends=True)
    assert (again[:2], len(again)) == (lines[:2], 4)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "polled").write_text("")
    settings = {"reuse": FILE, "workspace": str(tmp_path / "other")}
    differing = await agent.run(*WORK[1:], thread="differing", **settings)
    assert differing.output == whole.output
    assert len(agent.server.requests) - asked == 5


NO_RECORDINGS = ("no JSON", "[]", "{}", '{"after": 7, "messages": [], "reply": {}}', "7")


def test_incomplete_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.chdir(tmp_path)
    recorder = Recorder(FILE, "/w")
    recorder.start()
    recorder.add("main", [HumanMessage("One?")], AIMessage("One."))
    recorder.add("main", [HumanMessage("Two?")], AIMessage("Two."))
    turns = tmp_path / FILE
    turns.write_text(turns.read_text()[:-20])  # the last line was being written: it is left out
    played = ReplayModel.load(FILE, "/w")
    assert played.invoke([HumanMessage("One?")]).text == "One."
    with pytest.raises(ReplayMismatchError):
        played.invoke([HumanMessage("Two?")])
    for content in NO_RECORDINGS:
        with subtests.test(content=content):
            turns.write_text(f"{content}\n")
            with pytest.raises(SettingsError, match=f"{FILE} is not a recording of model turns"):
                ReplayModel.load(FILE, "/w")


ALIKE = {
    "took 1.25 s": "took 3 s",
    "<A object at 0x7f2f02956d90>": "<A object at 0x7f2f0290ced0>",
    "2026-11-21T02:38:35Z": "2027-01-02 03:04:05.678",
    "6f2acda9-0f4b-4b0e-9a52-7f1f7f0f6a11": "9d0f7a52-0f4b-4b0e-9a52-7f1f7f0f6a12",
}


def test_only_what_differs_from_run_to_run_does_not_count() -> None:
    def form(text: str) -> str:
        return str(normalize_messages([ToolMessage(text, tool_call_id="1")], "/w"))

    assert all(form(first) == form(second) for first, second in ALIKE.items())
    assert len({form(text) for text in ("12 files", "13 files", "0x1")}) == 3
    messages = [SystemMessage("You are."), HumanMessage("Hi."), ephemeral("Next?")]
    assert normalize_messages(messages, "/w") == [{"role": "human", "text": "Hi."}], (
        "of only one request"
    )
    assert [is_ephemeral(message) for message in messages] == [False, False, True]
