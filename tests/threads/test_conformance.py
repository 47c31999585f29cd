"""LangGraph's conformance tests for checkpointers, on both stores; and what they do not cover."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from manus import build_agent
from manus.config.settings import Settings
from manus.scripted import ScriptedModel
from manus.state.errors import UsageError
from manus.threads.open_store import open_store
from manus.threads.sqlite import SqliteStore, open_sqlite
from tests.threads.postgres_server import PostgresServer, binaries

NEEDS_POSTGRES = [
    pytest.mark.slow,
    pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed"),
]


async def find_failures(create: Any, capability: Capability) -> tuple[bool, list[str]]:
    """Return whether a store has a capability, and the tests that it fails."""
    registered = checkpointer_test(name="store")(create)
    report = await validate(registered, capabilities={capability.value})
    result = report.results[capability.value]
    return result.detected, result.failures or []


@pytest.mark.parametrize("capability", Capability)
async def test_sqlite(capability: Capability, tmp_path: Path) -> None:
    async def create() -> AsyncIterator[SqliteStore]:
        async with open_sqlite(tmp_path / "threads.db") as store:
            yield store

    assert await find_failures(create, capability) == (True, [])


@pytest.mark.slow
@pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed")
@pytest.mark.parametrize("capability", Capability)
async def test_postgres(capability: Capability, postgres: PostgresServer) -> None:
    url = postgres.new_database()

    async def create() -> AsyncIterator[Any]:
        async with open_store(Settings(checkpoint=url)) as store:
            yield store

    assert await find_failures(create, capability) == (True, [])


class TestAgentThreads:
    """The history of an agent's thread is stored as writes."""

    @pytest.fixture(params=["sqlite", pytest.param("postgres", marks=NEEDS_POSTGRES)])
    async def store(self, request: Any, tmp_path: Path, own_workspace: Path) -> AsyncIterator[Any]:
        place = str(tmp_path / "threads.db")
        if request.param == "postgres":
            place = request.getfixturevalue("postgres").new_database()
        async with open_store(Settings(checkpoint=place)) as store:
            yield store

    async def talk(self, store: Any, *replies: str, thread: str = "t") -> Any:
        """Run one request per reply; return the agent."""
        model = ScriptedModel()
        model.script(*map(AIMessage, replies))
        agent = build_agent(model, [], system_prompt="", checkpointer=store)
        for index, reply in enumerate(replies):
            config: Any = {"configurable": {"thread_id": thread, "run_id": f"{reply}-{index}"}}
            await agent.ainvoke({"request": f"Say {reply}."}, config)
        return agent

    async def texts(self, agent: Any, thread: str = "t") -> list[str]:
        snapshot = await agent.aget_state({"configurable": {"thread_id": thread}})
        return [message.text for message in snapshot.values.get("messages", [])]

    async def test_pruning_keeps_the_history(self, store: Any) -> None:
        agent = await self.talk(store, "A", "B")
        before = await self.texts(agent)
        if isinstance(store, SqliteStore):
            await store.aprune(["t"])
        else:  # LangGraph's own error
            with pytest.raises(NotImplementedError, match="DeltaChannel"):
                await store.aprune(["t"])
        assert await self.texts(agent) == before == ["Say A.", "A", "Say B.", "B"]

    async def test_a_copy_continues_independently(self, store: Any) -> None:
        agent = await self.talk(store, "A")
        await store.acopy_thread("t", "copy")
        agent = await self.talk(store, "B", thread="copy")
        assert await self.texts(agent, "copy") == ["Say A.", "A", "Say B.", "B"]
        assert await self.texts(agent) == ["Say A.", "A"]

    async def test_a_copy_replaces_no_thread(self, store: Any) -> None:
        await self.talk(store, "A")
        with pytest.raises(UsageError, match="exists"):
            await store.acopy_thread("t", "t")

    async def test_a_run_that_a_later_one_needs_stays(self, store: Any) -> None:
        agent = await self.talk(store, "A", "B")
        with pytest.raises(UsageError, match="later run"):
            await store.adelete_for_runs(["A-0"])
        await store.adelete_for_runs(["B-1"])
        assert await self.texts(agent) == ["Say A.", "A"]

    async def test_an_unknown_strategy(self, store: Any) -> None:
        await self.talk(store, "A")
        with pytest.raises((UsageError, ValueError), match="strategy"):
            await store.aprune(["t"], strategy="newest")
