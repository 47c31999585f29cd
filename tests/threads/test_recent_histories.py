"""A run reads only what is new of its thread, and never what another process has replaced."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Overwrite

from manus.config.context import RUNNING
from manus.threads.sqlite import SqliteStore, open_sqlite
from tests.helpers.agent import ScriptedAgent, thread_config
from tests.server import ScriptedServer, call, text

STEP = call("append", path="a", line="1")


def read_all(store: SqliteStore, **configurable: Any) -> Any:
    """Return the history of the newest checkpoint; `running` reads it as a run does."""
    config: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    newest = store.get_tuple(config)
    assert newest is not None
    config = {"configurable": {**newest.config["configurable"], **configurable}}
    channels = ["messages", "place", "results", "trail"]
    return store.get_delta_channel_history(config=config, channels=channels)


def plain(history: Any) -> Any:
    """Return a history in a form that can be compared."""
    return [
        (name, str(entry.get("seed")), [(task, str(value)) for task, _, value in entry["writes"]])
        for name, entry in history.items()
    ]


async def follow(agent: ScriptedAgent, other: ScriptedAgent, action: str) -> None:
    """Continue the thread in one of the ways in which its history may change."""
    config = thread_config("t")
    match action:
        case "run":
            await agent.run(STEP, text("Done."))
        case "long run":
            await agent.run(*[STEP] * 3, text("Done."))
        case "other process":
            await other.run(STEP, text("There."))
        case "edit":
            await agent.graph.aupdate_state(config, {"messages": [("user", "Edited.")]})
        case "remove":
            [*_, last] = await agent.messages()
            writes = {"messages": [RemoveMessage(id=str(last.id))]}
            await agent.graph.aupdate_state(config, writes)
        case "replace":
            messages = (await agent.messages())[:1]
            await agent.graph.aupdate_state(config, {"messages": Overwrite(messages)})
        case "fork":
            states = [state async for state in agent.graph.aget_state_history(config)]
            ended = [state for state in states if not state.next and state.values]
            await agent.graph.aupdate_state(ended[-1].config, {"messages": [("user", "Else.")]})
        case "prune":
            await other.saver.aprune(["t"], strategy="keep_latest")
        case "delete":
            await other.saver.adelete_thread("t")


@pytest.mark.parametrize(
    "actions",
    [
        ("run", "long run", "run"),
        ("other process", "run", "other process"),
        ("edit", "run", "remove", "run"),
        ("replace", "run", "run"),
        ("fork", "run", "fork", "other process"),
        ("prune", "run", "long run", "prune"),
        ("delete", "run", "run"),
    ],
    ids=" ".join,
)
async def test_a_run_gets_the_history_that_is_stored(
    actions: tuple[str, ...], agent: ScriptedAgent, server: ScriptedServer, own_workspace: Path
) -> None:
    path = own_workspace.parent / "threads.sqlite"
    async with AsyncExitStack() as stack:
        there = await stack.enter_async_context(open_sqlite(path))
        other = ScriptedAgent(server, own_workspace, there)
        store: Any = agent.saver
        for action in ("run", *actions, "run"):
            await follow(agent, other, action)
            if action == "delete":
                continue
            fresh = await stack.enter_async_context(open_sqlite(path))
            expected = plain(read_all(fresh))
            assert plain(read_all(store, **{RUNNING: None})) == expected, action
            assert plain(read_all(there, **{RUNNING: None})) == expected, action


async def test_messages_are_the_same_objects_in_the_next_run(agent: ScriptedAgent) -> None:
    await agent.run(STEP, text("One."))
    store: Any = agent.saver
    first = list_messages(read_all(store, **{RUNNING: None}))
    await agent.run(text("Two."))
    second = list_messages(read_all(store, **{RUNNING: None}))
    assert len(second) > len(first) > 0
    assert all(before is after for before, after in zip(first, second, strict=False))
    others = list_messages(read_all(store))
    assert not any(message is other for message, other in zip(second, others, strict=True))


@pytest.mark.parametrize(
    ("name", "value"),
    [("content", "Changed."), ("additional_kwargs", {"x": 1}), ("id", "other"), ("tool_calls", [])],
)
async def test_a_message_changed_in_memory_is_read_again(
    name: str, value: Any, agent: ScriptedAgent
) -> None:
    await agent.run(STEP, text("One."))
    store: Any = agent.saver
    message = list_messages(read_all(store, **{RUNNING: None}))[1]
    before = message.model_dump()
    if name == "additional_kwargs":
        message.additional_kwargs["x"] = 1
    else:
        setattr(message, name, value)
    assert message.model_dump() != before
    await agent.graph.aupdate_state(thread_config("t"), {"messages": [("user", "More.")]})
    again = list_messages(read_all(store, **{RUNNING: None}))[1]
    assert again.model_dump() == before


async def test_later_runs_read_only_new_checkpoints(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.run(STEP, text("One."))
    await agent.run(STEP, text("Two."))
    readings = []
    base = SqliteSaver.get_delta_channel_history

    def read(self: Any, **keywords: Any) -> Any:
        readings.append(keywords)
        return base(self, **keywords)

    monkeypatch.setattr(SqliteSaver, "get_delta_channel_history", read)
    server = agent.server
    server.script(*[reply for n in range(3) for reply in (STEP, text(f"Run {n}."))])
    for _ in range(3):
        inputs = {"request": "Go on."}
        await agent.graph.ainvoke(inputs, thread_config("t"), context=agent.context())
    assert readings == []


def list_messages(history: Any) -> list[AnyMessage]:
    messages: list[AnyMessage] = []
    for _, _, value in history["messages"]["writes"]:
        messages += value if isinstance(value, list) else [value]
    return messages
