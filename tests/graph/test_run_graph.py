"""Start and end of runs: resources are closed, threads are isolated, one run at a time."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage

from manus.graph import build_agent
from manus.graph.inputs import to_input
from manus.state.errors import UsageError
from tests.helpers.agent import TESTER, ScriptedAgent, thread_config
from tests.helpers.blocking import nothing_blocks
from tests.helpers.tools import Shelf
from tests.server import Request, call, calls, fail, hang, mentions, text

REQUESTS: list[Any] = [
    "Do it.",
    [{"role": "user", "content": "Do it."}],
    [SystemMessage("Be brief."), HumanMessage("Do it.")],
    [HumanMessage([{"type": "image_url", "image_url": {"url": "data:,"}}])],
]
NONE: list[Any] = [
    *({}, {"request": " \n"}, {"messages": []}),
    *({"messages": [("user", " ")]}, {"messages": [("assistant", "Hello.")]}),
]


async def test_a_missing_request_is_reported_in_one_sentence(
    agent: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    for messages in REQUESTS:
        with subtests.test(messages=messages):
            assert to_input({"messages": messages})["messages"] == messages
    for inputs in NONE:
        is_refused = pytest.raises(UsageError, match="There is no request")
        with subtests.test(inputs=inputs), is_refused:
            to_input(inputs)
    with pytest.raises(UsageError):
        await agent.run(request="  ")
    assert await agent.values() == {}, "nothing is left behind"
    with pytest.raises(UsageError, match="thread_id"):  # required by a checkpointer
        await agent.graph.ainvoke({"request": "Hi."}, context=agent.context())


class TestClosing:
    KEEP = call("keep", path="", line="1")

    async def test_live_resources_are_closed_at_the_end(
        self, agent: ScriptedAgent, subtests: pytest.Subtests
    ) -> None:
        for reply, reason in ((text("Done."), "answered"), (fail(401), "error")):
            with subtests.test(reply=reply, reason=reason):
                outcome = await agent.run(self.KEEP, reply)
                assert (outcome.stop_reason, Shelf.open) == (reason, 0)
        agent.server.script(self.KEEP, call("ask_human", inquire="Why?"))
        result = await build_agent(TESTER).ainvoke({"request": "Do it."}, context=agent.context())
        assert (result["stop_reason"], result["output"]) == ("interrupted", "Why?")
        assert Shelf.open == 0, "without a checkpointer a question leaves nothing open"

    async def test_and_when_the_run_is_cancelled(self, agent: ScriptedAgent) -> None:
        agent.server.script(self.KEEP, hang())
        run = asyncio.create_task(agent.run())
        await agent.server.wait_async(2)
        assert Shelf.open == 1
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert Shelf.open == 0

    async def test_and_when_the_reader_goes_away(self, agent: ScriptedAgent) -> None:
        agent.server.script(self.KEEP, text("Done.")).allow_unused()
        options: Any = {"context": agent.context(), "stream_mode": "updates"}
        stream: Any = agent.graph.astream({"request": "Do it."}, thread_config("t"), **options)
        async for update in stream:
            if "act" in update:
                break
        assert Shelf.open == 1
        await stream.aclose()
        assert Shelf.open == 0


async def test_two_threads_at_once_share_nothing(
    agent: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    """Each waits for the other in the middle of its work."""
    both = asyncio.Barrier(2)
    loop = asyncio.get_running_loop()

    def meet(reply: Any) -> Any:
        def replying(_: Request) -> Any:
            asyncio.run_coroutine_threadsafe(both.wait(), loop).result()
            return reply

        return replying

    names = ("left", "right")
    for name in names:
        keep = call("keep", path="", line=name)
        replies = (calls(keep, call("poll")), meet(keep), meet(text(f"I am {name}.")))
        agent.server.when(mentions(f"You are {name}."), *replies)
    runs = (agent.run(request=f"You are {name}.", thread=name) for name in names)
    for name, outcome in zip(names, await asyncio.gather(*runs), strict=True):
        with subtests.test(name=name, outcome=outcome):
            assert outcome.output == f"I am {name}."
            observation = await agent.observations(name)
            assert (observation[0], observation[2]) == (name, f"{name} {name}")
            assert (outcome.usage["model_calls"], outcome.usage["tool_calls"]) == (3, 3)
    assert Shelf.open == 0


async def test_a_run_that_could_not_start_does_not_hold_the_thread(agent: ScriptedAgent) -> None:
    Path("file").write_text("")
    for _ in range(2):
        with pytest.raises(UsageError, match="Cannot write to the workspace"):
            await agent.run(workspace="file")


async def test_a_profile_has_its_own_special_tools(agent: ScriptedAgent) -> None:
    own = replace(TESTER, special_tools=("terminate", "Poll"))
    other = ScriptedAgent(agent.server, agent.workspace, agent.saver, own)
    outcome = await other.run(calls(call("poll"), call("append", path="a", line="1")))
    assert (outcome.stop_reason, outcome.success) == ("terminated", True)
    assert agent.lines("a") == []
    assert (await other.observations())[-1].startswith("Not executed")


async def test_a_whole_run_never_blocks_the_event_loop(agent: ScriptedAgent) -> None:
    (agent.workspace / "long").write_text("y" * 20_000)
    work: Any = [
        calls(call("keep", path="", line="1"), call("poll"), call("broken"), call("nothing")),
        fail(500, headers={"Retry-After": "0.001"}),
        calls(call("append", raw="{"), call("picture"), text="Let me see."),
        call("read", path="long"),
        *[call("read", path="missing")] * 4,
        text("Done."),
    ]
    with nothing_blocks():
        outcome = await agent.run(*work, record="turns.jsonl")
        assert outcome.stop_reason == "answered"
        again = await agent.run(text("Yes."), request="And?", record="turns.jsonl")
        assert again.output == "Yes."
        waiting = await agent.run(call("ask_human", inquire="Why?"), request="Ask.")
        assert waiting.stop_reason == "interrupted"


ROOT = Path(__file__).parents[2]


@pytest.mark.environ(MANUS_VISION="false")
# The faults of the reference that concern the agent, by number. The others are covered elsewhere:
# 1, 3 and 4 in test_agent, 2 in nodes/test_think, 6 in nodes/test_request, 7 in test_compaction,
# 15 in test_usage, 18 and 22 above.


async def test_fault_16_where_they_are_left_out_a_line_says_so(agent: ScriptedAgent) -> None:
    await agent.run(call("picture"), text("I cannot see it."))
    request = agent.server.requests[1]
    assert "image_url" not in json.dumps(request.body)
    assert "image was left out" in request.text
    [observation] = [m for m in await agent.messages() if isinstance(m, ToolMessage)]
    assert isinstance(observation.content, list), (
        "the history still has it, for a model that can see"
    )


def test_fault_23_it_starts_as_shipped(tmp_path: Path) -> None:
    """Importing and drawing it needs no setting, key or network, and reads no file."""
    (tmp_path / "manus.toml").write_text("this is not TOML")
    script = (
        "from graph import build_agent\n"
        "import manus.graph.flow, manus.graph.served\n"
        "from manus.graph.profiles import PROFILES\n"
        "for name in PROFILES:\n"
        "    print(build_agent(name).get_graph().draw_mermaid().count('think'))\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.split()
    assert [file.name for file in tmp_path.iterdir()] == ["manus.toml"], "nothing is written"
