"""A message that arrives after a run has checked for messages for the last time."""

import asyncio

from manus.runs.messages import read_inbox, send, will_be_read
from manus.state.request import Request
from manus.threads.base import Store
from tests.helpers.agent import ScriptedAgent
from tests.server import text


async def test_a_message_at_the_end_of_a_run_is_read_by_the_next_one(agent: ScriptedAgent) -> None:
    store = agent.saver
    assert isinstance(store, Store)
    await agent.run(text("Done."))
    checks = []
    async with store.hold("t"):  # as a run that has stored its last state
        for words in ("Read.", "Unread."):
            message = await send(store, "t", Request(words, words), queue=False)
            checks.append(asyncio.create_task(will_be_read(store, "t", message)))
        [read, _] = await read_inbox(store, "t")
        store.records.inbox.take("t", read, "")
    assert await asyncio.gather(*checks) == [True, False]
