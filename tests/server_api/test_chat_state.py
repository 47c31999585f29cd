"""Thread state for chat UIs: the plan as `todos`, the changed files as `files`."""

from typing import Any

import pytest
from langgraph_sdk.errors import APIStatusError

from tests.server import call, calls, text
from tests.server_api.chat_ui import DEEP_AGENTS, build_decision, human, send
from tests.server_api.studio import Studio

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

EDITOR = "str_replace_editor"
PLAN = call("planning", command="create", title="Paint", steps=["Buy paint", "Paint", "Dry"])
BUY = call("planning", command="mark_step", step_index=0, step_status="completed")
PAINT = call("planning", command="mark_step", step_index=1, step_status="blocked")
WRITE = call(EDITOR, command="create", path="docs/a.md", file_text="# 你好\n")
ASKS: Any = {"context": {"approve": "ask"}}


def todo(place: int, content: str, status: str) -> dict[str, str]:
    return {"id": str(place), "content": content, "status": status}


async def test_an_agents_own_plan_is_shown_as_todos(studio: Studio) -> None:
    end = call("terminate", status="failure", answer="It rains.")
    studio.server.script(PLAN, calls(BUY, PAINT), end)
    thread = await studio.thread()
    inputs: Any = {"messages": [human("Paint it.")]}
    stream = studio.client.runs.stream(
        thread, "planner", input=inputs, context=studio.context(), **DEEP_AGENTS
    )
    parts = [part.data async for part in stream if part.event == "values"]
    todos = [todo(0, "Buy paint", "completed"), todo(1, "Paint", "pending")]
    assert parts[-1]["todos"] == [*todos, todo(2, "Dry", "in_progress")]
    state: Any = await studio.client.threads.get_state(thread)
    assert state["values"]["todos"] == parts[-1]["todos"]
    [newest] = await studio.client.threads.get_history(thread, limit=1)
    assert newest["values"] == state["values"]


async def test_changed_files_are_shown_while_it_waits_and_at_the_end(studio: Studio) -> None:
    thread = await studio.thread()
    (studio.workspace / "sub").mkdir(parents=True)
    (studio.workspace / "old.txt").write_text("as it was")
    shell = call("bash", command="echo two > sub/b.txt; printf '\\0\\1' > c.bin")
    studio.server.script(WRITE, shell, text("Done."))
    state = await send(
        studio, thread, ui=DEEP_AGENTS, input={"messages": [human("Write.")]}, **ASKS
    )
    assert "files" not in state["values"]
    state = await send(studio, thread, **build_decision(state, type="approve"), **ASKS)
    assert state["values"]["files"] == {"docs/a.md": "# 你好\n"}
    state = await send(studio, thread, **build_decision(state, type="approve"), **ASKS)
    assert state["values"]["files"] == {
        "c.bin": "(2 bytes, not text)",
        "docs/a.md": "# 你好\n",
        "sub/b.txt": "two\n",
    }
    assert state["values"]["stop_reason"] == "answered"
    with pytest.raises(APIStatusError):
        await studio.client.threads.update_state(thread, {"files": {"docs/a.md": "changed"}})


async def test_long_and_many_files_are_bounded(studio: Studio) -> None:
    long = call("bash", command="for i in $(seq 30); do yes line | head -c 90000 > $i.txt; done")
    studio.server.script(long, text("Done."))
    state = await send(studio, await studio.thread(), input={"messages": [human("Write.")]})
    files = state["values"]["files"]
    assert 1 <= len(files) <= 20
    assert sum(map(len, files.values())) <= 100_000
    assert all("the first 20,000 characters of 90,000 bytes" in text for text in files.values())


async def test_a_state_that_names_another_workspace_shows_none_of_its_files(
    studio: Studio,
) -> None:
    """Otherwise, whoever can edit a thread's state could read files outside the server's root."""
    thread = await studio.thread()
    studio.server.script(WRITE, text("Done."))
    state = await send(studio, thread, input={"messages": [human("Write.")]})
    run = {**state["values"]["run"], "workspace": "/etc"}
    changed = {"run": run, "changed_files": ["hostname", "passwd"]}
    await studio.client.threads.update_state(thread, changed, as_node="stuck_check")
    after: Any = await studio.client.threads.get_state(thread)
    assert after["values"]["run"]["workspace"] == "/etc"
    assert "files" not in after["values"]
