"""Forks over the SDK: from checkpoints as they are and with an edit; all states read back."""

from typing import Any

import pytest

from tests.server import call, text
from tests.server_api.studio import Studio

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

EDIT = {"messages": [{"type": "human", "content": "And now?"}]}


async def test_from_checkpoints_of_an_agent(studio: Studio) -> None:
    threads = studio.client.threads
    thread = await studio.thread()
    await studio.run(thread, call("bash", command="echo one"), text("It says one."))
    history = await threads.get_history(thread, limit=100)
    studio.server.when(lambda _: True).always(text("Once more."))
    for state in history[::2]:
        await threads.update_state(thread, None, checkpoint=state["checkpoint"])
        edited = await threads.update_state(thread, EDIT, checkpoint=state["checkpoint"])
        place = edited["checkpoint"]["checkpoint_id"]
        await studio.run(thread, input=None, checkpoint_id=place)

    states = await threads.get_history(thread, limit=500)
    each = [await threads.get_state(thread, checkpoint=state["checkpoint"]) for state in states]
    assert [state["values"] for state in states] == [state["values"] for state in each]
    values: Any = [state["values"] for state in each]
    said = [[message["content"] for message in one.get("messages", [])] for one in values]
    assert sum("And now?" in texts for texts in said) >= len(history[::2])
    assert sum("Once more." in texts for texts in said) >= len(history[::2])
