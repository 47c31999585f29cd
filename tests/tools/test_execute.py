"""The one place that executes a tool call: there is a message, whatever happens."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from manus.state.errors import StorageError
from manus.tools.call import UNKNOWN_EFFECT
from manus.tools.journal import Journal
from manus.tools.locks import Resource
from manus.tools.result import Image, Observation
from manus.tools.session import Session
from tests.helpers.acting import Act, execute_alone, raising, said_of


async def test_a_call_becomes_one_message(session: Session) -> None:
    outcome = await execute_alone(session, Act(session=session), {"text": "hello"})
    message = outcome.message
    assert (message.text, message.tool_call_id, message.name) == ("hello", "c1", "act")
    assert message.status == "success"
    assert outcome.update == {}


async def test_an_unknown_tool_lists_the_known_ones(session: Session) -> None:
    message = (await execute_alone(session, Act(session=session), name="akt")).message
    assert message.status == "error"
    assert "Did you mean `act`?" in message.text
    same = await execute_alone(session, Act(session=session), {"text": "x"}, name="ACT")
    assert (same.message.text, same.message.name) == ("x", "ACT")


async def test_a_refused_call_is_not_executed(session: Session) -> None:
    held = Act(session=session)
    message = (await execute_alone(session, held, {"text": "x"}, refusal="Not now.")).message
    assert (message.text, message.status, held.begun) == ("Not now.", "error", [])


async def test_images_are_kept_beside_the_text(session: Session) -> None:
    image = Image("aGk=", "image/png")
    held = Act(session=session, does=lambda _: Observation("x" * 5_000, (image,)))
    message = (await execute_alone(session, held, limit=1_000)).message
    assert isinstance(message.content, list)
    [text, picture] = message.content
    assert isinstance(text, dict)
    assert len(text["text"]) <= 1_000
    assert "characters left out" in text["text"]
    assert picture == image.as_block()


@pytest.mark.parametrize("limit", [10, 10_000])
async def test_what_no_store_can_hold_does_not_get_into_the_message(
    session: Session, limit: int
) -> None:
    text = "a\0b \ud83d\ude00 \ud800"
    held = Act(session=session, does=lambda _: Observation(text))
    message = (await execute_alone(session, held, limit=limit)).message
    json.dumps(message.model_dump(), ensure_ascii=False).encode()
    assert "\0" not in message.text
    if limit > len(text):
        assert message.text == "a␀b 😀 \ufffd"
    refused = await execute_alone(session, held, refusal="no \0\ud800", key="other")
    assert refused.message.text == "no ␀\ufffd"


async def test_without_a_claim_there_is_no_effect(session: Session) -> None:
    session.journal = Journal(session.workspace.private / "journal")
    session.journal.open()
    held = Act(session=session)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, limit[1]))
    try:
        with pytest.raises(StorageError):
            await execute_alone(session, held)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert held.begun == []


async def test_a_call_that_is_done_is_answered_from_the_journal(session: Session) -> None:
    held = Act(session=session, does=lambda _: Observation("done", is_error=True, update={"n": 1}))
    first = await execute_alone(session, held)
    assert await execute_alone(session, held) == first
    assert len(held.begun) == 1


async def test_a_journal_changes_no_channel_that_the_tool_does_not(session: Session) -> None:
    held = Act(session=session, does=lambda _: Observation("done", update={"n": 1}))
    entry = (await execute_alone(session, held)).message.model_dump()
    session.journal.finish("key", entry, {"n": 2, "status": "finished", "plans": {}})
    assert (await execute_alone(session, held)).update == {"n": 2}


async def test_a_call_that_had_begun_is_not_executed_again(session: Session) -> None:
    session.journal.begin("key", "act")
    held = Act(session=session)
    assert await said_of(session, held) == UNKNOWN_EFFECT
    assert held.begun == []


async def test_a_call_without_effect_is_simply_repeated(session: Session) -> None:
    session.journal.begin("key", "act")
    held = Act(session=session, pure=True)
    await execute_alone(session, held, {"text": "1"})
    await execute_alone(session, held, {"text": "2"})
    assert held.begun == ["1", "2"]


_DIES = """
import asyncio, os
from manus.tools.journal import Journal
from manus.tools.session import Session
from manus.tools.workspace import Workspace
from tests.helpers.acting import Act, execute_alone

def act(text):
    with open("effects", "a") as file:
        file.write(text)
    os.kill(os.getpid(), 9)

async def main():
    workspace = Workspace(".")
    workspace.prepare()
    journal = Journal(workspace.private / "j.jsonl")
    journal.open()
    session = Session(workspace, journal=journal)
    await execute_alone(session, Act(session=session, does=act), {"text": "x"})

asyncio.run(main())
"""


async def test_a_killed_process_does_not_repeat_its_effect(session: Session) -> None:
    """A process dies within a call; the next one finds the claim and does not call again."""
    root = session.workspace.root
    path = {"PYTHONPATH": str(Path(__file__).parents[2])}
    died = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _DIES, cwd=root, env={**os.environ, **path}
    )
    assert await died.wait() == -9
    session.journal = Journal(session.workspace.private / "j.jsonl")
    session.journal.open()
    held = Act(session=session)
    assert await said_of(session, held, {"text": "x"}) == UNKNOWN_EFFECT
    assert held.begun == []
    assert (root / "effects").read_text() == "x"


async def test_an_interrupt_passes_through_and_releases_the_claim(session: Session) -> None:
    held = Act(session=session, does=raising(GraphInterrupt()))
    with pytest.raises(GraphInterrupt):
        await execute_alone(session, held)
    assert session.journal.look_up("key") is None
    async with session.locks.hold([Resource("*")]):
        pass


async def test_a_tool_that_asks_before_it_acts_acts_once(session: Session) -> None:
    acted: list[str] = []

    def does(text: str) -> Observation:
        answer = interrupt("May I?")
        acted.append(answer)
        return Observation(f"acted: {answer}")

    held = Act(session=session, does=does)

    class State(TypedDict, total=False):
        said: str

    async def node(state: State) -> State:
        return {"said": str((await execute_alone(session, held)).message.text)}

    builder = StateGraph(State)
    builder.add_node("act", node)
    builder.add_edge(START, "act")
    graph = builder.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    waiting = await graph.ainvoke({}, config)
    assert [i.value for i in waiting["__interrupt__"]] == ["May I?"]
    assert await graph.ainvoke(Command(resume="yes"), config) == {"said": "acted: yes"}
    assert acted == ["yes"]


async def test_calls_that_touch_different_things_run_side_by_side(session: Session) -> None:
    both = asyncio.Barrier(2)

    async def meet(text: str) -> Observation:
        await both.wait()
        return Observation("met")

    held = Act(session=session, does=meet)
    outcomes = await asyncio.gather(
        *(execute_alone(session, held, {"resource": r}, key=r) for r in ("a", "b"))
    )
    assert [o.message.text for o in outcomes] == ["met", "met"]
