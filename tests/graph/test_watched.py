"""Who listens to a run is told of every call in it; what the agent asks itself is silent."""

from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage

from manus.prompts import compaction
from tests.helpers.agent import ScriptedAgent, thread_config
from tests.server import Scripted, call, calls, mentions, text


class Listener(AsyncCallbackHandler):
    """Notes what it is told of."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def on_chat_model_start(self, serialized: Any, messages: Any, **more: Any) -> None:
        self.told.append(f"model: {len(messages[0])} messages")

    async def on_llm_end(self, response: Any, **more: Any) -> None:
        self.told.append(f"reply: {response.generations[0][0].text}")

    async def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
        self.told.append(f"tool: {serialized['name']} {more['inputs']}")

    async def on_tool_end(self, output: Any, **more: Any) -> None:
        self.told.append(f"observation: {output.status}")


async def test_a_listener_is_told_of_all_and_changes_nothing(agent: ScriptedAgent) -> None:
    write = call("append", id="c1", path="a.txt", line="1")
    agent.server.script(*[calls(write, text="I write."), text("Done.")] * 2)
    listener = Listener()
    for thread, heard in (("heard", [listener]), ("alone", [])):
        config: Any = {**thread_config(thread), "callbacks": heard}
        await agent.graph.ainvoke({"request": "Do it."}, config, context=agent.context())
    assert listener.told == [
        "model: 3 messages",
        "reply: I write.",
        "tool: append {'path': 'a.txt', 'line': '1'}",
        "observation: success",
        "model: 5 messages",
        "reply: Done.",
    ]
    histories = [await agent.messages(thread) for thread in ("heard", "alone")]
    heard_of, alone = ([m.model_dump(exclude={"id"}) for m in history] for history in histories)
    assert alone == heard_of
    assert all(message.id for message in histories[1])


async def seen(agent: ScriptedAgent, *replies: Scripted) -> str:
    """The words that a watcher of the tokens sees; tool messages are none."""
    parts = await agent.parts("messages", *replies)
    return "".join(m.text for m, _ in parts if isinstance(m, AIMessage))


async def test_what_a_tool_asks_a_model_is_silent(consulter: ScriptedAgent) -> None:
    ask = call("consult", path="said", line="Who?")
    assert await seen(consulter, ask, text("Me."), text("Done.")) == "Done."
    assert consulter.lines("said") == ["Me."]


@pytest.mark.environ(MANUS_CONTEXT_WINDOW="4000")
async def test_compaction_is_silent(agent: ScriptedAgent) -> None:
    notes = agent.server.when(mentions(compaction.SUMMARIZER[:40]))
    notes.always(text("- A long file was read. [#2]"))
    reads = []
    for place in range(5):
        (agent.workspace / f"{place}.txt").write_text(f"line {place} of a long text\n" * 120)
        reads.append(call("read", path=f"{place}.txt"))
    assert await seen(agent, *reads, text("Done.")) == "Done."
    asked = [r for r in agent.server.requests if compaction.SUMMARIZER[:40] in r.text]
    assert asked, "the history was made shorter"
    assert (await agent.outcome()).output == "Done."
