"""What a run costs beside the model: storage that grows with the steps, no blocked event loop."""

from typing import Any

from blockbuster import blockbuster_ctx

from manus.sqlite import SqliteStore
from tests.helpers.agent import ScriptedAgent
from tests.server import Scripted, call, calls, fail, text

OBSERVED = "x" * 1000
# what the outcome of a run holds once, at its end, is left out by counting before it
SIZE = """
SELECT (SELECT COALESCE(SUM(LENGTH(checkpoint) + LENGTH(metadata)), 0) FROM checkpoints
        WHERE thread_id = :thread)
     + (SELECT COALESCE(SUM(LENGTH(value)), 0) FROM writes WHERE thread_id = :thread)
"""


def stored(saver: SqliteStore, thread: str) -> int:
    """Bytes that the checkpoints of a thread take."""
    return int(saver.conn.execute(SIZE, {"thread": thread}).fetchone()[0])


async def test_storage_grows_with_the_steps(agent: ScriptedAgent, saver: SqliteStore) -> None:
    (agent.workspace / "long").write_text(OBSERVED)
    sizes = {}
    for steps in (10, 30):
        work: list[Scripted] = [
            calls(call("read", path="long"), call("append", path="a", line=str(n)))
            for n in range(steps)
        ]
        thread = f"t{steps}"
        await agent.run(*work, text("Done."), thread=thread, max_steps=80)
        sizes[steps] = stored(saver, thread)
    first, later = sizes[10] / 10, (sizes[30] - sizes[10]) / 20
    assert later < 1.15 * first, "a step late in the run costs what an early one does"
    assert first < 12_000, "1 KB of observation and two calls"


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
