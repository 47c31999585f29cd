"""What a run does not cost: a blocked event loop."""

from typing import Any

from blockbuster import blockbuster_ctx

from tests.helpers.agent import ScriptedAgent
from tests.server import call, calls, fail, text


async def test_a_whole_run_never_blocks_the_event_loop(agent: ScriptedAgent) -> None:
    (agent.workspace / "long").write_text("y" * 20_000)
    rooms = ["graph", "nodes", "state", "prompts", "tools"]
    work: Any = [
        calls(call("keep", path="", line="1"), call("poll"), call("broken"), call("nothing")),
        fail(500, headers={"Retry-After": "0.001"}),
        calls(call("append", raw="{"), call("picture"), text="Let me see."),
        call("read", path="long"),
        *[call("read", path="missing")] * 4,
        text("Done."),
    ]
    with blockbuster_ctx(scanned_modules=rooms):
        outcome = await agent.run(*work, record="turns.jsonl")
        assert outcome.stop_reason == "answered"
        again = await agent.run(text("Yes."), request="And?", record="turns.jsonl")
        assert again.output == "Yes."
        waiting = await agent.run(call("ask_human", inquire="Why?"), request="Ask.")
        assert waiting.stop_reason == "interrupted"
