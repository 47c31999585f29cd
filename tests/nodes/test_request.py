"""The composition of a request: system prompt, history, next-step prompt."""

import itertools
import json

from langchain_core.messages import HumanMessage, SystemMessage
from syrupy.assertion import SnapshotAssertion

from manus.nodes.turn.notes import step_notes
from manus.prompts import agent as prompts
from manus.state.agent import Run
from tests.helpers.agent import ScriptedAgent
from tests.server import Scripted, call, calls, text

RUN = Run(id="r", request_id="u", step=1, max_steps=20, workspace="/somewhere", profile="tester")


def test_the_steps_left_are_said_in_the_last_quarter() -> None:
    for step, left in ((1, None), (15, None), (16, 5), (18, 3), (20, 1), (21, 1)):
        expected = [] if left is None else [prompts.steps_left(left)]
        assert step_notes({**RUN, "step": step}, None) == expected


async def test_what_is_sent(agent: ScriptedAgent, snapshot: SnapshotAssertion) -> None:
    write = calls(call("append", path="a", line="1"), text="First.")
    await agent.run(write, text("Done."), request="Write a 1.", max_steps=2)
    sent = agent.server.requests[-1].messages
    place = str(agent.workspace)
    assert [(m["role"], m["content"].replace(place, "<workspace>")) for m in sent] == snapshot


async def test_each_request_begins_with_the_one_before(agent: ScriptedAgent) -> None:
    work: list[Scripted] = [call("append", path="a", line=str(n)) for n in range(12)]
    work += [calls(call("picture"), call("poll")), call("broken"), call("append", raw="{")]
    await agent.run(*work, text("Done."), max_steps=18)
    await agent.run(call("read", path="a"), text("Yes."), request="Is it there?")
    requests = agent.server.requests
    assert len(requests) == 18
    for earlier, later in itertools.pairwise(requests):
        kept = earlier.messages[:-1]
        assert later.messages[: len(kept)] == kept
        assert len(later.messages) > len(earlier.messages)
        assert later.tools == earlier.tools
        # down to the bytes, which is what a provider's cache compares
        last = json.dumps(earlier.last, ensure_ascii=False, separators=(",", ":")).encode()
        assert later.raw.startswith(earlier.raw[: earlier.raw.rindex(last)])


async def test_neither_prompt_is_ever_stored(agent: ScriptedAgent) -> None:
    await agent.run(call("poll"), text("Done."), max_steps=2)
    await agent.run(text("Yes."), request="Really?")
    history = await agent.messages()
    assert not any(isinstance(message, SystemMessage) for message in history)
    asked = [str(m.text) for m in history if isinstance(m, HumanMessage)]
    assert asked == ["Do it.", "Really?"]
    for request in agent.server.requests:
        prompts_sent = [m for m in request.messages if "What next?" in str(m["content"])]
        assert prompts_sent == [request.last]
        assert [m["role"] for m in request.messages].count("system") == 1
