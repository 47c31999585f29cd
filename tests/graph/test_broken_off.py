"""Calls that broke off: what a provider may bill is counted, as far as it is known."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from manus.state.usage import Usage
from tests.graph.test_usage import PRICES, assert_sums
from tests.helpers.agent import ScriptedAgent
from tests.server import Scripted, cut, hang, text, tokens

DONE = text("Done.", usage=tokens(1_000, 10))


async def streamed(agent: ScriptedAgent, *replies: Scripted, **chosen: Any) -> Usage:
    """The usage of a run whose replies come in pieces, as they do on the command line."""
    await agent.watched(*replies, **chosen)
    return (await agent.outcome()).usage


async def test_each_try_counts(agent: ScriptedAgent, tmp_path: Path) -> None:
    (tmp_path / "manus.toml").write_text(PRICES)
    usage = await streamed(agent, cut(3), cut(3), DONE)
    assert usage["model_calls"] == 3
    given = usage["input_tokens"] - 1_000
    assert given > 0
    assert given % 2 == 0, "both tries had the same request"
    assert usage["cost"] > (1_000 + 20) / 1e6
    assert_sums(usage)


async def test_a_run_that_is_cancelled(agent: ScriptedAgent) -> None:
    """The line of the call is in the journal: the run that goes on has it in its account."""
    running = asyncio.create_task(streamed(agent, hang()))
    await agent.server.arrived(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    usage = (await agent.invoke(None, DONE)).usage
    assert usage["model_calls"] == 2
    assert usage["input_tokens"] > 1_000
    assert usage["estimated"]
    assert_sums(usage)
