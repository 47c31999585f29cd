"""Forks over the SDK: from every checkpoint, with and without an edit; all states read back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server import call, text
from tests.server_api.studio import Studio

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

EDIT = {"messages": [{"type": "human", "content": "And now?"}]}


async def fork_all(studio: Studio, thread: str, graph: str) -> int:
    """Fork from every checkpoint of a thread: as it is, edited, and gone on with; how many."""
    client = studio.client.threads
    history = await client.get_history(thread, limit=100)
    for state in history:
        at = state["checkpoint"]
        await client.update_state(thread, None, checkpoint=at)
        edited = await client.update_state(thread, EDIT, checkpoint=at)
        for checkpoint in (at["checkpoint_id"], edited["checkpoint"]["checkpoint_id"]):
            await studio.run(thread, input=None, graph=graph, checkpoint_id=checkpoint)
    return len(history)


async def read_all(studio: Studio, thread: str) -> list[Any]:
    """The values of all states, read as the newest, in the history and each by itself."""
    client = studio.client.threads
    history = await client.get_history(thread, limit=500)
    newest = await client.get_state(thread)
    each = [await client.get_state(thread, checkpoint=s["checkpoint"]) for s in history]
    assert [s["values"] for s in history] == [s["values"] for s in each]
    assert newest["values"] == history[0]["values"]
    return [state["values"] for state in each]


async def test_of_an_agent(studio: Studio) -> None:
    thread = await studio.thread()
    write = call("str_replace_editor", command="create", path="a.txt", file_text="one\n")
    look = call("bash", command="cat a.txt")
    await studio.run(thread, write, look, text("It says one."))
    studio.server.when(lambda _: True).always(text("Once more."))
    count = await fork_all(studio, thread, "agent")
    states = await read_all(studio, thread)
    said = [[m["content"] for m in values.get("messages", [])] for values in states]
    assert sum("And now?" in texts for texts in said) >= count
    assert sum("Once more." in texts for texts in said) >= count
