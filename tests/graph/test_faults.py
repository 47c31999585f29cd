"""The faults of the reference that concern the agent, by their numbers.

Those that are not here are what other tests are about: 1 and 4 test_agent, 2
nodes/test_stuck_check, 6 nodes/test_request, 15 test_usage, 22 test_run_graph.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage

from tests.helpers.agent import ScriptedAgent, assert_paired, thread_config
from tests.server import Scripted, call, calls, hang, text

ROOT = Path(__file__).parents[2]


async def test_fault_3_the_step_counter_does_not_leak_into_the_next_run(
    agent: ScriptedAgent,
) -> None:
    for number in range(3):
        outcome = await agent.run(
            call("poll"), call("poll"), text("Done."), request=f"Number {number}.", max_steps=3
        )
        assert outcome.stop_reason == "answered"
        assert (await agent.values())["run"]["step"] == 3


async def test_fault_7_a_long_history_keeps_the_request_and_its_pairs(
    agent: ScriptedAgent,
) -> None:
    (agent.workspace / "long").write_text("z" * 300)
    work: list[Scripted] = [
        calls(call("read", path="long"), call("append", path="a", line=str(n))) for n in range(30)
    ]
    await agent.run(*work, text("Done."), request="Count to thirty.", max_steps=40)
    for request in agent.server.requests:
        said = [m["content"] for m in request.messages if m["role"] == "user"]
        assert said[0] == "Count to thirty."
    assert_paired(await agent.messages())
    assert not agent.server.violations, "no tool message without its call, and none lacking"


async def test_fault_8_tool_choice_none_executes_nothing(agent: ScriptedAgent) -> None:
    write = call("append", path="a", line="1")
    await agent.run(calls(write, text="I write."), tool_choice="none")
    assert agent.lines("a") == []


async def test_fault_8_tool_choice_required_does_not_crash(agent: ScriptedAgent) -> None:
    outcome = await agent.run(*[text("No.")] * 3, tool_choice="required")
    assert outcome.stop_reason == "error"
    assert "`required`" in outcome.output
    again = await agent.run(text("Yes."), request="Again.")
    assert again.stop_reason == "answered"


async def test_fault_16_where_they_are_left_out_a_line_says_so(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_VISION", "false")
    await agent.run(call("picture"), text("I cannot see it."))
    sent = agent.server.requests[1]
    assert "image_url" not in json.dumps(sent.body)
    assert "An image was left out here" in sent.text
    [seen] = [m for m in await agent.messages() if isinstance(m, ToolMessage)]
    assert isinstance(seen.content, list), "the history still has it, for a model that can see"


async def test_fault_18_a_tool_that_works_does_not_hold_up_the_others(
    agent: ScriptedAgent,
) -> None:
    """A second run comes to its end while a call of the first is at work."""
    agent.server.script(call("hold", path="a", line="1"))
    first = asyncio.create_task(agent.run(thread="first"))
    while not agent.lines("a"):
        await asyncio.sleep(0.001)
    second = await agent.run(call("poll"), text("Two."), thread="second")
    assert second.output == "Two."
    agent.server.script(text("One."))
    (agent.workspace / "release").touch()
    assert (await first).output == "One."


def test_fault_23_it_starts_as_shipped(tmp_path: Path) -> None:
    """Importing it and drawing it needs no setting, no key and no network, and reads no file."""
    (tmp_path / "manus.toml").write_text("this is not TOML")
    script = (
        "from graph import build_agent\n"
        "import manus.graph.flow, manus.graph.served\n"
        "from manus.graph.profiles import PROFILES\n"
        "for name in PROFILES:\n"
        "    print(build_agent(name).get_graph().draw_mermaid().count('think'))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.split()
    assert [file.name for file in tmp_path.iterdir()] == ["manus.toml"], "nothing is written"


async def test_fault_23_without_a_model_it_says_what_to_do(agent: ScriptedAgent) -> None:
    outcome = await agent.run(model=None, base_url=None)
    assert outcome.stop_reason == "error"
    assert "OPENAI_API_KEY" in outcome.output
    assert "MANUS_MODEL" in outcome.output


async def test_a_cancelled_run_leaves_a_thread_that_goes_on(agent: ScriptedAgent) -> None:
    """Not in the list, but what users ask for most: stopping must not break the thread."""
    agent.server.script(call("append", path="a", line="1"), hang())
    run = asyncio.create_task(agent.run())
    await agent.server.arrived(2)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    snapshot = await agent.graph.aget_state(thread_config("t"))
    assert snapshot.next == ("think",)
    outcome = await agent.invoke(None, text("Gone on."))
    assert outcome.output == "Gone on."
    assert agent.lines("a") == ["1"]
