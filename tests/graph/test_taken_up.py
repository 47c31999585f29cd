"""A run that another worker of a server takes up: the same input and run id, given once more."""

import asyncio
from typing import Any

import pytest

from manus.sqlite import SqliteStore
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.server import call, hang, text

GIVEN = {"request": "Do it."}


def attempt(run: str) -> Any:
    """The configuration of a run as a server makes it, the same at each attempt."""
    return {"configurable": {"thread_id": "t"}, "metadata": {"run_id": run}}


async def died(agent: ScriptedAgent, config: Any) -> None:
    """The worker has gone, while the model was asked for the second time."""
    work = asyncio.create_task(agent.graph.ainvoke(GIVEN, config, context=agent.context()))
    await agent.server.arrived(2, timeout=60)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


async def test_it_goes_on_and_does_not_begin_again(
    agent: ScriptedAgent, saver: SqliteStore
) -> None:
    agent.server.script(call("append", path="a", line="1"), hang())
    await died(agent, attempt("r"))
    again = ScriptedAgent(agent.server, agent.workspace, saver)
    agent.server.script(text("Done."))
    found = await again.graph.ainvoke(GIVEN, attempt("r"), context=again.context())
    assert (found["stop_reason"], found["output"]) == ("answered", "Done.")
    assert [m.type for m in await agent.messages()] == ["human", "ai", "tool", "ai"]
    assert agent.lines("a") == ["1"]
    assert_paired(await agent.messages())
