"""A store that was restored from an older copy than the journal of its threads."""

import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import RemoveMessage
from langgraph.types import Command

from manus.threads.journal import Claim, Journal
from manus.threads.sqlite import open_sqlite
from tests.flow.helpers import ScriptedFlow, free, makes, succeeds
from tests.graph.test_delegate import COUNT, HELPER, NAME
from tests.helpers.agent import DELEGATOR, ScriptedAgent
from tests.server import ScriptedServer, call, calls, text

Open = Callable[[], AbstractAsyncContextManager[ScriptedAgent]]
NOTE = "This conversation is older than the record of your tool calls"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "stores" / "threads.sqlite"


@pytest.fixture
def open_agent(server: ScriptedServer, own_workspace: Path, store: Path) -> Open:
    @asynccontextmanager
    async def open_scripted() -> Any:
        async with open_sqlite(store) as saver:
            agent = ScriptedAgent(server, own_workspace, saver)
            yield agent
            await agent.graph.close_waiting()

    return open_scripted


def copy(store: Path) -> Path:
    """Copy only the database, as a backup does."""
    return Path(shutil.copy(store, store.with_name("copy")))


def append(line: str) -> Any:
    return call("append", path="a", line=line)


async def restore_copy(open_agent: Open, store: Path, *later: Any) -> None:
    """Restore a copy from before the later turns of the thread."""
    async with open_agent() as agent:
        await agent.run(append("1"), text("One."), request="First.")
    saved = copy(store)
    async with open_agent() as agent:
        await agent.run(*later, request="Second.")
    shutil.copy(saved, store)
    for rest in ("-wal", "-shm"):
        store.with_name(store.name + rest).unlink(missing_ok=True)


async def test_a_new_request_lists_missing_calls(
    open_agent: Open, store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await restore_copy(
        open_agent, store, calls(append("2"), append("3")), append("4"), text("Two.")
    )
    async with open_agent() as agent:
        outcome = await agent.run(append("5"), text("Three."), request="Third.")
        assert outcome.output == "Three."
        assert "although their effects remain: 3 calls: `append`" in caplog.text
        first, second = agent.server.requests[-2:]
        assert first.text.count(NOTE) == 1
        assert first.text.count("- `append` → ") == 3
        assert NOTE in second.text
        caplog.clear()
        await agent.run(text("Four."), request="Fourth.")
        assert "Missing from it" not in caplog.text
        assert NOTE not in agent.server.requests[-1].text


async def test_a_call_during_which_the_process_was_killed_is_listed(
    open_agent: Open, store: Path
) -> None:
    """Unless the history answers it, as that of a call that was cancelled."""
    async with open_agent() as agent:
        await agent.run(calls(append("1")), text("One."), request="First.")
        [message] = [m for m in (await agent.values())["messages"] if m.type == "tool"]
    async with open_sqlite(store) as saver:
        journal = Journal(saver.records.log("t", ""))
        journal.open()
        journal.begin("killed", Claim("append", call_id="lost"))
        journal.begin("cancelled", Claim("append", call_id=message.tool_call_id))
        journal.close()
    async with open_agent() as agent:
        await agent.run(append("2"), text("Two."), request="Second.")
        first = agent.server.requests[-2]
        assert first.text.count(NOTE) == 1
        assert first.text.count("- `append` → (it did not finish)") == 1


async def test_a_resumed_run_lists_them_too(
    open_agent: Open, store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    question = call("ask_human", inquire="Which?")
    async with open_agent() as agent:
        await agent.run(append("1"), question, request="First.")
    saved = copy(store)
    async with open_agent() as agent:
        await agent.invoke(Command(resume="That."), append("2"), text("Done."))
    shutil.copy(saved, store)
    async with open_agent() as agent:
        await agent.invoke(Command(resume="That."), text("Done again."))
        assert "although their effects remain: 1 call: `append`" in caplog.text
        assert NOTE in agent.server.requests[-1].text


@pytest.mark.parametrize("same", [True, False])
async def test_a_store_that_matches_is_not_reported(
    open_agent: Open, store: Path, caplog: pytest.LogCaptureFixture, same: bool
) -> None:
    async with open_agent() as agent:
        await agent.run(append("1"), text("One."), request="First.")
        if same:
            await agent.run(append("2"), text("Two."), request="Second.")
    async with open_agent() as agent:
        await agent.run(append("3"), text("Three."), request="Third.")
        assert NOTE not in "".join(request.text for request in agent.server.requests)
    assert "Missing from it" not in caplog.text


async def test_an_edited_thread_lacks_calls_on_purpose(
    open_agent: Open, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_agent() as agent:
        await agent.run(append("1"), text("One."), request="First.")
        config: Any = {"configurable": {"thread_id": "t"}}
        state = await agent.graph.aget_state(config)
        [result] = [m for m in state.values["messages"] if m.type == "tool"]
        await agent.graph.aupdate_state(config, {"messages": [RemoveMessage(result.id)]})
    async with open_agent() as agent:
        await agent.run(text("Two."), request="Second.")
    assert "Missing from it" not in caplog.text


async def test_calls_of_a_delegated_agent_that_are_missing_are_reported(
    server: ScriptedServer, own_workspace: Path, store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Path("manus.toml").write_text(HELPER)
    question = call("ask_human", inquire="Which?")
    answer: Any = Command(resume="That.")
    async with open_sqlite(store) as saver:
        agent = ScriptedAgent(server, own_workspace, saver, DELEGATOR)
        await agent.run(COUNT, append("1"), question)
        await agent.graph.close_waiting()
    saved = copy(store)
    async with open_sqlite(store) as saver:
        agent = ScriptedAgent(server, own_workspace, saver, DELEGATOR)
        await agent.invoke(answer, append("2"), text("Seven."), text("Done."))
        await agent.run(NAME, append("3"), text("Carp."), text("Done."), request="Second.")
    shutil.copy(saved, store)
    async with open_sqlite(store) as saver:
        agent = ScriptedAgent(server, own_workspace, saver, DELEGATOR)
        await agent.invoke(answer, text("Seven."), text("Done."))
        assert caplog.text.count("although their effects remain: 1 call: `append`") == 1
        assert "remain: 1 call: `delegate` → Carp." in caplog.text
        inner, outer = server.requests[-2:]
        assert NOTE in inner.text
        assert NOTE in outer.text
        caplog.clear()
        await agent.run(COUNT, append("4"), text("Eight."), text("Done."), request="Third.")
        assert "Missing from it" not in caplog.text


@pytest.mark.parametrize("is_resumed", [True, False])
async def test_the_steps_of_a_plan_that_are_missing_are_reported(
    server: ScriptedServer,
    own_workspace: Path,
    store: Path,
    caplog: pytest.LogCaptureFixture,
    is_resumed: bool,
) -> None:
    question = call("ask_human", inquire="Which?")
    async with open_sqlite(store) as saver:
        flow = ScriptedFlow(server, own_workspace, saver)
        flow.plans(makes(free("alpha"), free("beta", 0), free("gamma", 1)))
        flow.step("alpha", append("1"), question)
        await flow.run()
        await flow.graph.close_waiting()
    saved = copy(store)
    async with open_sqlite(store) as saver:
        flow = ScriptedFlow(server, own_workspace, saver)
        flow.step("alpha", succeeds())
        flow.step("beta", append("2"), succeeds("Beta is done."))
        flow.step("gamma", append("3"), question)
        await flow.invoke(Command(resume="That."))
        await flow.graph.close_waiting()
    shutil.copy(saved, store)
    async with open_sqlite(store) as saver:
        flow = ScriptedFlow(server, own_workspace, saver)
        first_new = len(server.requests)
        if is_resumed:
            flow.step("alpha", succeeds())
            flow.step("beta", succeeds())
            flow.step("gamma", succeeds())
            flow.sums_up(text("Done."))
            await flow.invoke(Command(resume="That."))
        else:
            flow.plans(makes(free("delta")))
            flow.step("delta", succeeds())
            flow.sums_up(text("Done."))
            await flow.run(request="Something else.")
        assert "restored from a copy" in caplog.text
        assert "`beta` → Beta is done." in caplog.text
        assert "`gamma` → (it did not finish)" in caplog.text
        noted = [request for request in server.requests[first_new:] if NOTE in request.text]
        assert len(noted) >= 2
        caplog.clear()
        flow.plans(makes(free("last")))
        flow.step("last", succeeds())
        flow.sums_up(text("Done."))
        await flow.run(request="Go on.")
        assert "restored from a copy" not in caplog.text


async def test_steps_of_a_store_that_matches_are_not_reported(
    server: ScriptedServer, own_workspace: Path, store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_sqlite(store) as saver:
        flow = ScriptedFlow(server, own_workspace, saver)
        for number in range(2):
            flow.plans(makes(free(f"alpha {number}"), free("beta")))
            flow.step(f"alpha {number}", append("1"), succeeds())
            flow.step("beta", append("2"), succeeds())
            flow.sums_up(text("Done."))
            await flow.run(request=f"Request {number}.")
    assert "restored from a copy" not in caplog.text
    assert NOTE not in "".join(request.text for request in server.requests)
