"""`history`, `rewind` and `fork` in Python, with a store in a file and in a database."""

import asyncio
import operator
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from manus import build_agent, fork, history, open_postgres, open_sqlite, rewind
from manus.pages.trace.reading import read_trace
from manus.state.errors import ThreadBusyError, UsageError
from manus.state.usage import Budget, sum_tokens
from manus.threads.base import Store
from manus.workspace.workspace import Workspace
from tests.flow.helpers import SECOND, ScriptedFlow, free, makes, succeeds
from tests.helpers.agent import TESTER, ScriptedAgent
from tests.helpers.processes import until
from tests.server import Call, Message, ScriptedServer, call, text, tokens
from tests.threads.postgres_server import binaries

SHELL = replace(TESTER, name="shell", tools=(*TESTER.tools, "bash", "delegate"))


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param(
            "postgres",
            marks=pytest.mark.skipif(binaries() is None, reason="PostgreSQL is not installed"),
        ),
    ]
)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "sqlite":
        async with open_sqlite(tmp_path / "threads.sqlite") as opened_store:
            yield opened_store
    else:
        url = request.getfixturevalue("postgres").new_database()
        async with open_postgres(url) as opened_store:
            yield opened_store


@pytest.fixture
def agent(server: ScriptedServer, store: Store, own_workspace: Path) -> ScriptedAgent:
    return ScriptedAgent(server, own_workspace, store, SHELL)


@pytest.fixture
def flow(server: ScriptedServer, store: Store, own_workspace: Path) -> ScriptedFlow:
    return ScriptedFlow(server, own_workspace, store, (SHELL, SECOND))


def bash(command: str) -> Any:
    return call("bash", command=command)


async def change_files(agent: ScriptedAgent) -> None:
    await agent.run(
        bash("mkdir data; echo 1 > data/a.csv"), bash("rm -rf data; echo 2 > b.txt"), text("Done.")
    )


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if ".manus" not in p.parts}


async def test_a_thread_is_rewound_with_its_files(agent: ScriptedAgent, store: Store) -> None:
    await change_files(agent)
    steps = await history(store, "t")
    assert [step.number for step in steps] == [0, 1, 2, 3]
    assert [step.files for step in steps][:3] == [(), ("data/a.csv",), ("b.txt", "data/a.csv")]
    result = await rewind(store, "t", to=1)
    assert sorted(result.restored) == ["b.txt", "data/a.csv"]
    assert (result.kept, result.failed, result.outside_effects) == ([], {}, [])
    assert files(agent.workspace) == {"data", "data/a.csv"}
    times = [step.ended_at for step in await history(store, "t")]
    assert times == [step.ended_at for step in steps[:2]]
    outcome = await agent.invoke(None, text("Went on."))
    assert outcome.output == "Went on."
    assert len(agent.server.requests[-1].tool_results) == 1


async def test_a_rewind_is_undone(agent: ScriptedAgent, store: Store) -> None:
    await change_files(agent)
    await rewind(store, "t", to=0)
    assert files(agent.workspace) == set()
    await rewind(store, "t", undo=True)
    assert files(agent.workspace) == {"b.txt"}
    assert len(await history(store, "t")) == 4
    assert (await agent.outcome()).output == "Done."


async def edit_meanwhile(root: Path) -> None:
    """Edit, create and delete files while a call runs until the file `go` exists."""
    await until((root / "a.txt").exists)
    (root / "mine.txt").write_text("mine, changed")
    (root / "new.txt").write_text("mine, too")
    (root / "old.txt").unlink()
    (root / "go").touch()


async def test_changes_by_others_during_a_call_are_kept(agent: ScriptedAgent, store: Store) -> None:
    root = agent.workspace
    (root / "mine.txt").write_text("mine")
    (root / "old.txt").write_text("old")
    command = "echo 1 > a.txt; until [ -e go ]; do sleep 0.01; done; rm -f gone; echo 2 > b.txt"
    await asyncio.gather(
        edit_meanwhile(root), agent.run(bash(command), bash("echo 3 >> a.txt"), text("Done."))
    )
    assert [step.files for step in await history(store, "t")][1:3] == [
        ("a.txt", "b.txt"),
        ("a.txt",),
    ]
    (root / "go").unlink()
    result = await rewind(store, "t", to=0)
    assert sorted(result.restored) == ["a.txt", "b.txt"]
    assert files(root) == {"mine.txt", "new.txt"}
    assert (root / "mine.txt").read_text() == "mine, changed"
    await rewind(store, "t", undo=True)
    assert (root / "a.txt").read_text() == "1\n3\n"
    assert (root / "mine.txt").read_text() == "mine, changed"


async def test_a_deletion_after_a_large_step_is_restored(
    agent: ScriptedAgent, store: Store
) -> None:
    (agent.workspace / "src").mkdir()
    (agent.workspace / "src" / "app.py").write_text("mine")
    large = "mkdir build; for i in $(seq 10); do head -c 3M /dev/urandom > build/$i; done"
    await agent.run(bash(large), bash("rm -rf src"), text("Done."))
    result = await rewind(store, "t", to=1)
    assert result.restored == ["src/app.py"]
    assert (agent.workspace / "src" / "app.py").read_text() == "mine"


async def test_rewinds_are_undone_one_by_one(agent: ScriptedAgent, store: Store) -> None:
    await agent.run(*(bash(f"echo {n} > {n}.txt") for n in range(1, 4)), text("Done."))
    tip = files(agent.workspace)
    await rewind(store, "t", to=2)
    await rewind(store, "t", to=2)  # the same, which completes it
    await rewind(store, "t", to=1)
    assert files(agent.workspace) == {"1.txt"}
    await rewind(store, "t", undo=True)
    assert files(agent.workspace) == {"1.txt", "2.txt"}
    assert len(await history(store, "t")) == 3
    await rewind(store, "t", undo=True)
    assert files(agent.workspace) == tip
    assert len(await history(store, "t")) == 5
    with pytest.raises(UsageError, match="no rewind to undo"):
        await rewind(store, "t", undo=True)
    await rewind(store, "t", to=1)
    await agent.invoke(None, bash("echo 9 > 9.txt"), text("Went on."))
    await rewind(store, "t", undo=True)
    assert files(agent.workspace) == tip
    await rewind(store, "t", undo=True)  # what happened after the rewind is not lost either
    assert files(agent.workspace) == {"1.txt", "9.txt"}


KILLED = """
import asyncio, os, sys
from pathlib import Path
from manus import open_sqlite, rewind
from manus.threads.rewind import Rewinder

async def die(*_, **__):
    os.kill(os.getpid(), 9)

async def main():
    Rewinder.return_to = die
    async with open_sqlite(Path(sys.argv[1])) as store:
        await rewind(store, "t", to=1)

asyncio.run(main())
"""


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@pytest.mark.parametrize("who", ["the next run", "the same rewind", "another rewind"])
async def test_a_killed_rewind_is_completed_by_who_uses_the_thread_next(
    agent: ScriptedAgent, store: Store, tmp_path: Path, who: str
) -> None:
    root = agent.workspace
    await change_files(agent)
    words = [sys.executable, "-c", KILLED, str(tmp_path / "threads.sqlite")]
    assert (await asyncio.to_thread(subprocess.run, words, check=False)).returncode == -9
    assert files(root) == {"data", "data/a.csv"}
    (root / "data" / "a.csv").write_text("mine, after the kill")
    (root / "b.txt").write_text("mine, too")
    if who == "the next run":
        await agent.invoke(None, text("Went on."))
        assert len(agent.server.requests[-1].tool_results) == 1
    else:
        await rewind(store, "t", to=1 if who == "the same rewind" else 0)
    assert (root / "data" / "a.csv").read_text() == "mine, after the kill"
    assert (root / "b.txt").read_text() == "mine, too"
    await rewind(store, "t", undo=True)
    assert (root / "data" / "a.csv").read_text() == "mine, after the kill"


async def test_what_is_not_recorded_is_named(
    agent: ScriptedAgent, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    root = agent.workspace
    (root / "node_modules" / "x").mkdir(parents=True)
    (root / "node_modules" / "x" / "index.js").write_text("x")
    (root / "large.bin").touch()
    os.truncate(root / "large.bin", 65 * 2**20)
    await agent.run(
        bash("rm -r node_modules; mkdir -p __pycache__; touch __pycache__/a.pyc; echo 1 > a.txt"),
        bash("rm large.bin"),
        text("Done."),
    )
    first, second = agent.server.requests[-1].tool_results.values()
    assert "a rewind cannot restore it: node_modules." in first
    assert "cannot restore it: large.bin." in second
    assert "cannot restore it: node_modules, large.bin." in caplog.text  # at the end of the run
    steps = await history(store, "t")
    assert steps[1].files == ("a.txt", "node_modules (not recorded)")
    assert (await rewind(store, "t", to=1)).failed.keys() == {"large.bin"}
    assert (await rewind(store, "t", to=0)).failed.keys() == {"large.bin", "node_modules"}


async def test_a_fork_has_its_own_files(agent: ScriptedAgent, store: Store, tmp_path: Path) -> None:
    await change_files(agent)
    copy = await fork(store, "t", at=1, workspace=tmp_path / "copy")
    assert files(tmp_path / "copy") == {"data", "data/a.csv"}
    assert files(agent.workspace) == {"b.txt"}
    assert len(await history(store, copy)) == 2


async def test_wrong_use(agent: ScriptedAgent, store: Store) -> None:
    await change_files(agent)
    with pytest.raises(UsageError, match=r"has no step 9; .* 0 to 3"):
        await rewind(store, "t", to=9)
    with pytest.raises(UsageError, match="Pass either the step"):
        await rewind(store, "t")
    with pytest.raises(UsageError, match="no thread other"):
        await rewind(store, "other", to=1)
    with pytest.raises(UsageError, match="got InMemorySaver"):
        await rewind(InMemorySaver(), "t", to=1)
    async with store.hold("t"):
        with pytest.raises(ThreadBusyError):
            await rewind(store, "t", to=1)
    agent.workspace.rename(agent.workspace.with_name("moved"))
    with pytest.raises(UsageError, match="does not exist, so nothing was restored"):
        await rewind(store, "t", to=1)
    assert len(await history(store, "t")) == 4


class Notes(AgentState[Any]):
    notes: Annotated[list[str], operator.add]


class TakesNotes(AgentMiddleware[Any, Any]):
    state_schema = Notes

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"notes": [f"request {len(state.get('notes', [])) + 1}"]}


async def test_channels_of_a_middleware_are_rewound_too(
    server: ScriptedServer, store: Store, own_workspace: Path
) -> None:
    agent = ScriptedAgent(server, own_workspace, store, SHELL)
    agent.graph = build_agent(SHELL, checkpointer=store, middleware=[TakesNotes()])
    await agent.run(bash("echo 1 > a.txt"), bash("echo 2 > a.txt"), text("Done."))
    assert len((await agent.values())["notes"]) == 3
    await rewind(store, "t", to=1)
    assert (await agent.values())["notes"] == ["request 1"]
    await agent.invoke(None, text("Went on."))
    assert len((await agent.values())["notes"]) == 2


@tool
def send_mail(to: str, body: str) -> str:
    """Send a mail."""
    return f"Sent to {to}: {len(body)} characters."


@tool
def fail_to_send(to: str) -> str:
    """Fail to send a mail, with a network error."""
    raise OSError(f"the connection to {to} was lost")


async def test_effects_outside_the_workspace_are_listed(
    server: ScriptedServer, store: Store, own_workspace: Path
) -> None:
    agent = ScriptedAgent(server, own_workspace, store, SHELL)
    tools = [send_mail, fail_to_send]
    agent.graph = build_agent(replace(SHELL, tools=(*SHELL.tools, *tools)), checkpointer=store)
    await agent.run(
        call("send_mail", to="before@example.org", body="1"),
        call("send_mail", to="a@example.org", body="Hello,\n" * 50),
        bash("echo 1 > a.txt"),
        call("fail_to_send", to="b@example.org"),
        call("send_mail"),  # without arguments it is not executed
        text("Done."),
    )
    result = await rewind(store, "t", to=1)
    assert [*map(str, result.outside_effects)] == [
        "send_mail: a@example.org",
        "fail_to_send: b@example.org (it may have had no effect)",
    ]
    assert result.outside_effects[0].arguments["to"] == "a@example.org"


def paid(reply: Any) -> Message:
    """Return a reply that costs 1,010 tokens."""
    message = Message(calls=(reply,)) if isinstance(reply, Call) else reply
    return replace(message, usage=tokens(1000, 10))


async def test_usage_is_not_rewound(agent: ScriptedAgent, store: Store) -> None:
    """In the state, in the trace, and in the budget."""
    calls = [bash(f"echo {number} > a.txt") for number in range(3)]
    await agent.run(*map(paid, [*calls, text("Done.")]))
    spent = (await agent.values())["usage"]
    assert (spent["model_calls"], sum_tokens(spent)) == (4, 4040)
    result = await rewind(store, "t", to=1)
    assert sum_tokens(result.spent) == 3030
    assert (await agent.values())["usage"] == spent
    [run] = await read_trace(store, "t")
    assert sum_tokens(run.tokens) == 4040
    result = await rewind(store, "t", to=0)
    assert sum_tokens(result.spent) == 4040
    outcome = await agent.invoke(None, budget=Budget(tokens=4000))
    assert outcome.stop_reason == "budget"
    assert sum_tokens((await agent.values())["usage"]) == 4040


async def test_usage_of_later_requests_is_included(agent: ScriptedAgent, store: Store) -> None:
    await agent.run(paid(bash("echo 1 > a.txt")), paid(text("One.")))
    await agent.run(paid(bash("echo 2 > a.txt")), paid(text("Two.")))
    result = await rewind(store, "t", to=2)
    assert sum_tokens(result.spent) == 2020
    runs = await read_trace(store, "t")
    assert [sum_tokens(run.tokens) for run in runs] == [4040]
    assert [notice.text for run in runs for notice in run.agent_steps[-1].notices] == [
        "2,020 tokens were spent on steps that were undone."
    ]


async def test_usage_of_a_flow_is_not_rewound(flow: ScriptedFlow, store: Store) -> None:
    flow.plans(paid(makes(free("alpha"), free("beta", 0))))
    flow.step("alpha", paid(bash("echo 1 > a.txt")), paid(succeeds()))
    flow.step("beta", paid(bash("echo 1 > b.txt")), paid(succeeds()))
    flow.sums_up(paid(text("All done.")))
    await flow.run()
    spent = (await flow.values())["usage"]
    assert sum_tokens(spent) == 6060
    assert [step.text for step in await history(store, "t")][1:] == [
        "plan step 1: completed → Done.",
        "plan step 2: completed → Done.",
        "summary: All done.",
    ]
    result = await rewind(store, "t", to=1)
    assert files(flow.workspace) == {"a.txt"}
    assert sum_tokens(result.spent) == 3030
    assert await flow.statuses() == ["completed", "not_started"]
    assert sum_tokens((await flow.values())["usage"]) == 6060
    [run] = await read_trace(store, "t")
    assert sum_tokens(run.tokens) == 6060
    outcome = await flow.invoke(None, budget=Budget(tokens=6000))
    assert outcome.stop_reason == "budget"


async def test_a_run_from_an_earlier_checkpoint_restores_the_files_on_request(
    agent: ScriptedAgent, store: Store
) -> None:
    await change_files(agent)
    (agent.workspace / "mine.txt").write_text("mine")
    steps = await history(store, "t")

    async def run_from(number: int, **settings: Any) -> list[Any]:
        agent.server.script(text("Again."))
        config: Any = {
            "configurable": {"thread_id": "t", "checkpoint_id": steps[number].checkpoint}
        }
        context = agent.context(**settings)
        stream = agent.graph.astream(None, config, context=context, stream_mode="custom")
        return [event async for event in stream if event["type"] == "files"]

    assert await run_from(1) == []
    assert files(agent.workspace) == {"b.txt", "mine.txt"}
    [event] = await run_from(1, restore_files=True)
    assert sorted(event["restored"]) == ["b.txt", "data/a.csv"]
    assert (event["is_recorded"], event["kept"]) == (True, [])
    assert files(agent.workspace) == {"data", "data/a.csv", "mine.txt"}
    [event] = await run_from(0, restore_files=True)
    assert files(agent.workspace) == {"mine.txt"}
    shutil.rmtree(Workspace(agent.workspace).records / "snapshots")
    [event] = await run_from(1, restore_files=True)
    assert event["is_recorded"] is False
    assert event["text"].startswith("Files were not restored: this machine has no record")
    assert files(agent.workspace) == {"mine.txt"}


async def test_deleted_files_are_named_at_the_end(
    agent: ScriptedAgent, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    root = agent.workspace
    (root / "src").mkdir(parents=True)
    for name in ("src/a.py", "src/b.py", "kept.txt", "moved.txt"):
        (root / name).write_text(name)
    await agent.run(
        bash("echo 1 > own.txt; mv moved.txt new.txt"),
        bash("rm -r src own.txt; echo 2 > kept.txt"),
        text("Done."),
    )
    assert "Deleted by the run: src/a.py, src/b.py." in caplog.text
    assert "`manus rewind t --to STEP` brings them back" in caplog.text
    caplog.clear()
    await agent.run(bash("echo 3 > kept.txt"), text("Done."))
    assert "Deleted" not in caplog.text
    await rewind(store, "t", to=0)
    assert (root / "src/a.py").read_text() == "src/a.py"
