"""A thread that is displayed repeatedly is deserialized once."""

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from manus.threads.history import ROOT, History, read_history
from manus.threads.serializer import CompactSerializer, DecodedValues
from tests.helpers.agent import ScriptedAgent
from tests.server import call, text


def messages_in(history: History) -> list[BaseMessage]:
    return [message for superstep in history[ROOT] for message in superstep.messages]


async def test_a_second_read_adds_new_values_and_reuses_the_rest(agent: ScriptedAgent) -> None:
    await agent.run(call("append", path="a", line="1"), text("One."), request="First.")
    decoded = DecodedValues()
    first = messages_in(await read_history(agent.saver, "t", decoded))
    await agent.run(text("Two."), request="Second.")
    second = messages_in(await read_history(agent.saver, "t", decoded))
    assert [message.text for message in second[len(first) :]] == ["Second.", "Two."]
    pairs = zip(first, second, strict=False)
    assert all(before is after for before, after in pairs), "which were not deserialized again"
    fresh = messages_in(await read_history(agent.saver, "t"))
    assert [message.model_dump() for message in fresh] == [m.model_dump() for m in second]
    assert not any(before is after for before, after in zip(fresh, second, strict=True))


async def test_a_run_never_shares_the_values_of_a_reader(agent: ScriptedAgent) -> None:
    await agent.run(text("One."), request="First.")
    decoded = DecodedValues()
    with decoded.reading():
        history = await read_history(agent.saver, "t", decoded)
    state = await agent.messages()
    assert [m.text for m in state] == [m.text for m in messages_in(history)]
    assert not any(message is stored for message in messages_in(history) for stored in state)


def test_full_copies_of_a_channel_are_not_read_to_be_shown() -> None:
    """They contain every message of a thread, which is also in the deltas."""
    serializer = CompactSerializer()
    stored = serializer.dumps_typed({"channel_values": {"messages": _DeltaSnapshot(["a", "b"])}})
    assert serializer.loads_typed(stored)["channel_values"]["messages"].value == ["a", "b"]
    with DecodedValues().reading():
        assert serializer.loads_typed(stored) == {"channel_values": {"messages": None}}
