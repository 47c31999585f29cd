"""Killed at any point, and gone on with: nothing that was done is done again."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.flow.helpers import ScriptedFlow, free, is_planner, is_step, makes, succeeds
from tests.server import call, calls, hang, text

ROOT = Path(__file__).resolve().parents[2]


@asynccontextmanager
async def process(
    flow: ScriptedFlow, request: str, **chosen: Any
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that works on the thread `t` of the flow's database."""
    database = str(flow.workspace.parent / "threads.sqlite")
    arguments = (database, str(flow.workspace), flow.server.base_url, request, json.dumps(chosen))
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.flow.worker",
        *arguments,
        cwd=ROOT,
        env={**os.environ, "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"},
    )
    try:
        yield worker
    finally:
        if worker.returncode is None:
            worker.kill()
        await worker.wait()


async def until(flow: ScriptedFlow, path: str) -> None:
    """Wait until a file is there."""
    async with asyncio.timeout(60):
        while not flow.lines(path):
            await asyncio.sleep(0.02)


async def test_a_sibling_that_had_finished_keeps_its_result(flow: ScriptedFlow) -> None:
    flow.plans(makes(free("alpha"), free("beta"), free("join", 0, 1)))
    flow.step("alpha", call("append", path="a", line="1"), succeeds("Alpha is 42."))
    beta = flow.step(
        "beta",
        call("append", path="b", line="first"),
        calls(call("hold", path="held", line="begun")),
    )
    async with process(flow, "Do it.") as worker:
        await until(flow, "held")
        await flow.server.arrived(5, 60)  # the plan, two of alpha, two of beta
        async with asyncio.timeout(60):
            while "completed" not in await pending(flow):
                await asyncio.sleep(0.05)
        worker.kill()
        await worker.wait()
    assert "beta" not in (await flow.outcome()).output
    beta.script(succeeds("Beta too."))
    flow.step("join", text("Joined."))
    flow.sums_up(text("All."))
    outcome = await flow.invoke(None)
    assert outcome.stop_reason == "completed"
    assert (flow.lines("a"), flow.lines("b"), flow.lines("held")) == (["1"], ["first"], ["begun"])
    assert len(flow.asked(is_planner)) == 1
    assert len(flow.asked(is_step("alpha"))) == 2
    assert "not executed again" in flow.asked(is_step("beta"))[-1].text
    assert "Alpha is 42." in flow.asked(is_step("join"))[0].text


async def pending(flow: ScriptedFlow) -> str:
    """What steps have written that are not in the state yet, as text."""
    saved = await flow.saver.aget_tuple({"configurable": {"thread_id": "t"}})
    return str(saved.pending_writes if saved else "")


async def test_killed_while_planning(flow: ScriptedFlow) -> None:
    planner = flow.plans(hang())
    async with process(flow, "Do it.") as worker:
        await flow.server.arrived(1, 60)
        worker.kill()
        await worker.wait()
    planner.script(makes("alpha"))
    flow.step("alpha", succeeds())
    flow.sums_up(text("All."))
    outcome = await flow.invoke(None)
    assert (outcome.stop_reason, outcome.output) == ("completed", "All.")


async def test_killed_between_steps_and_at_the_summary(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", call("append", path="a", line="1"), succeeds())
    beta = flow.step("beta", hang())
    async with process(flow, "Do it.") as worker:
        await flow.server.arrived(4, 60)
        worker.kill()
        await worker.wait()
    beta.script(succeeds())
    summary = flow.sums_up(hang())
    async with process(flow, "") as worker:
        await flow.server.arrived(6, 60)
        worker.kill()
        await worker.wait()
    summary.script(text("All."))
    outcome = await flow.invoke(None)
    assert (outcome.stop_reason, outcome.output) == ("completed", "All.")
    assert flow.lines("a") == ["1"]
    assert [len(flow.asked(is_step(name))) for name in ("alpha", "beta")] == [2, 2]
