"""Runs that are stepped through, taken over, forked or observed."""

import asyncio
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage

from manus.graph.profiles import SWE
from manus.prompts import compaction
from manus.state.messages import CALL_FACTS
from tests.helpers.agent import ScriptedAgent, assert_paired, thread_config
from tests.helpers.processes import processes_in
from tests.server import Scripted, call, calls, hang, mentions, text

T = thread_config("t")
EVERY = ["think", "act", "stuck_check"]


@pytest.fixture
def coder(agent: ScriptedAgent) -> ScriptedAgent:
    """Provide an agent with a shell."""
    return ScriptedAgent(agent.server, agent.workspace, agent.saver, SWE)


async def step(coder: ScriptedAgent, inputs: Any = None) -> tuple[str, ...]:
    """Advance by one node; return the next nodes."""
    await coder.graph.ainvoke(inputs, T, context=coder.context(), interrupt_after=EVERY)
    nodes: tuple[str, ...] = (await coder.graph.aget_state(T)).next
    return nodes


async def test_the_shell_stays_between_nodes(coder: ScriptedAgent) -> None:
    coder.server.script(
        call("bash", command="X=5; echo $$ > pid"), call("bash", command="echo $X"), text("Five.")
    )
    nodes = [await step(coder, {"request": "Count."})]
    while nodes[-1]:
        nodes.append(await step(coder))
        if coder.lines("pid"):
            assert bool(processes_in(coder.workspace)) == bool(nodes[-1])
    rounds = [("act",), ("stuck_check",), ("think",)]
    assert nodes == [*rounds, *rounds, ("stuck_check",), ()]
    assert (await coder.observations())[1] == "5\n[exit code 0]"


async def test_a_thread_is_forked_from_any_of_its_checkpoints(
    agent: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    added = [call("append", path="a", line=str(number)) for number in range(2)]
    await agent.run(*added, text("Done."))
    end = await agent.graph.aget_state(T)
    history = [s async for s in agent.graph.aget_state_history(T, limit=50)]
    assert len(history) >= 9
    agent.server.always(text("Another end."))
    for earlier in history:
        with subtests.test(earlier=earlier):
            inputs = None if earlier.next else {"request": "And now?"}
            await agent.graph.ainvoke(inputs, earlier.config, context=agent.context())
            values = await agent.values()
            decided = earlier.next == ("stuck_check",) and len(earlier.values["messages"]) == 6
            assert values["output"] == ("Done." if decided else "Another end.")
            assert_paired(values["messages"])
            requests = [message.text for message in values["messages"] if message.type == "human"]
            assert requests == (["Do it."] if inputs is None else ["Do it.", "And now?"])
            count = len(earlier.values.get("messages", []))
            assert values["messages"][:count] == earlier.values.get("messages", [])
    assert agent.lines("a") == ["0", "1", "1", "0"], "the work after a checkpoint is repeated"
    end_again = await agent.graph.aget_state(end.config)
    assert end_again.values == end.values


async def test_a_run_whose_worker_died_is_resumed(agent: ScriptedAgent) -> None:
    """It does not start over: its configuration, as a server creates it, is the same again."""
    inputs = {"request": "Do it."}
    attempt: Any = {**T, "metadata": {"run_id": "r"}}
    agent.server.script(call("append", path="a", line="1"), hang())
    work = asyncio.create_task(agent.graph.ainvoke(inputs, attempt, context=agent.context()))
    await agent.server.wait_async(2, timeout=60)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    again = ScriptedAgent(agent.server, agent.workspace, agent.saver)
    agent.server.script(text("Done."))
    result = await again.graph.ainvoke(inputs, attempt, context=again.context())
    assert (result["stop_reason"], result["output"]) == ("answered", "Done.")
    assert [m.type for m in await agent.messages()] == ["human", "ai", "tool", "ai"]
    assert agent.lines("a") == ["1"]
    assert_paired(await agent.messages())


class Listener(AsyncCallbackHandler):
    """Records its callbacks."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def on_chat_model_start(self, serialized: Any, messages: Any, **options: Any) -> None:
        self.told.append(f"model: {len(messages[0])} messages")

    async def on_llm_end(self, response: Any, **options: Any) -> None:
        self.told.append(f"reply: {response.generations[0][0].text}")

    async def on_tool_start(self, serialized: Any, input_str: str, **options: Any) -> None:
        self.told.append(f"tool: {serialized['name']} {options['inputs']}")

    async def on_tool_end(self, output: Any, **options: Any) -> None:
        self.told.append(f"observation: {output.status}")


async def test_a_callback_receives_all_events_and_changes_nothing(agent: ScriptedAgent) -> None:
    write = call("append", id="c1", path="a.txt", line="1")
    agent.server.script(*[calls(write, text="I write."), text("Done.")] * 2)
    listener = Listener()
    for thread, listeners in (("heard", [listener]), ("alone", [])):
        config: Any = {**thread_config(thread), "callbacks": listeners}
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
    for history in histories:
        for message in history:
            message.additional_kwargs.pop(CALL_FACTS, None)  # the duration of a call
    heard_of, alone = ([m.model_dump(exclude={"id"}) for m in history] for history in histories)
    assert alone == heard_of
    assert all(message.id for message in histories[1])


async def stream_text(agent: ScriptedAgent, *replies: Scripted) -> str:
    """Return the text that a consumer of the token stream sees, without tool messages."""
    parts = await agent.parts("messages", *replies)
    return "".join(m.text for m, _ in parts if isinstance(m, AIMessage))


async def test_model_calls_of_a_tool_are_not_streamed(consulter: ScriptedAgent) -> None:
    ask = call("consult", path="said", line="Who?")
    assert await stream_text(consulter, ask, text("Me."), text("Done.")) == "Done."
    assert consulter.lines("said") == ["Me."]


@pytest.mark.environ(MANUS_CONTEXT_WINDOW="4000")
async def test_compaction_is_not_streamed(agent: ScriptedAgent) -> None:
    notes = agent.server.when(mentions(compaction.SUMMARIZER[:40]))
    notes.always(text("- A long file was read. [#2]"))
    reads = []
    for place in range(5):
        (agent.workspace / f"{place}.txt").write_text(f"line {place} of a long text\n" * 120)
        reads.append(call("read", path=f"{place}.txt"))
    assert await stream_text(agent, *reads, text("Done.")) == "Done."
    requests = [r for r in agent.server.requests if compaction.SUMMARIZER[:40] in r.text]
    assert requests, "the history was compacted"
    assert (await agent.outcome()).output == "Done."
