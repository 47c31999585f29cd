"""Who listens to a run is told of every call in it; who does not gets the same run."""

from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    get_usage_metadata_callback,
)
from langchain_core.messages import AnyMessage

from manus.state.context import is_watched
from tests.helpers.agent import ScriptedAgent, thread_config
from tests.server import call, calls, text


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


def replies() -> tuple[Any, ...]:
    write = call("append", id="c1", path="a.txt", line="1")
    return calls(write, text="I write."), text("Done.")


def shown(messages: list[AnyMessage]) -> list[dict[str, Any]]:
    return [message.model_dump(exclude={"id"}) for message in messages]


async def test_a_listener_is_told_of_all_and_the_run_is_the_same_without_one(
    agent: ScriptedAgent,
) -> None:
    agent.server.script(*replies(), *replies())
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
    heard_of, alone = [await agent.messages(thread) for thread in ("heard", "alone")]
    assert shown(alone) == shown(heard_of)
    assert all(message.id for message in alone)


async def test_a_context_manager_around_the_run_is_a_listener(agent: ScriptedAgent) -> None:
    with get_usage_metadata_callback() as used:
        await agent.run(text("Done."))
    usage = (await agent.graph.aget_state(thread_config("t"))).values["usage"]
    [counted] = used.usage_metadata.values()
    assert counted["input_tokens"] == usage["input_tokens"] > 0


def test_only_a_run_without_handlers_is_surely_not_watched() -> None:
    heard = {"callbacks": AsyncCallbackManager([Listener()])}
    assert all(map(is_watched, (None, {}, {"callbacks": []}, heard)))
    assert not is_watched({"callbacks": AsyncCallbackManager([])})
