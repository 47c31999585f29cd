"""The one place that executes a tool call: there is a message, whatever happens."""

import json
import resource

import pytest

from manus.state.errors import StorageError
from manus.tools.journal import Journal
from manus.tools.result import Image, Observation
from manus.tools.session import Session
from tests.helpers.acting import Act, execute_alone


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


async def test_what_no_store_can_hold_does_not_get_into_the_message(session: Session) -> None:
    held = Act(session=session, does=lambda _: Observation("a\0b \ud83d\ude00 \ud800"))
    cut = (await execute_alone(session, held, limit=10, key="cut")).message
    json.dumps(cut.model_dump(), ensure_ascii=False).encode()
    assert "\0" not in cut.text
    assert (await execute_alone(session, held)).message.text == "a␀b 😀 \ufffd"
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
    again = await execute_alone(session, held)
    assert (again.message, again.observation.update) == (first.message, {"n": 1})
    assert len(held.begun) == 1


async def test_a_journal_changes_no_channel_that_the_tool_does_not(session: Session) -> None:
    held = Act(session=session, does=lambda _: Observation("done", update={"n": 1}))
    entry = (await execute_alone(session, held)).message.model_dump()
    session.journal.finish("key", entry, {"n": 2, "status": "finished", "plans": {}})
    assert (await execute_alone(session, held)).observation.update == {"n": 2}


async def test_a_call_without_effect_is_simply_repeated(session: Session) -> None:
    session.journal.begin("key", "act")
    held = Act(session=session, pure=True)
    await execute_alone(session, held, {"text": "1"})
    await execute_alone(session, held, {"text": "2"})
    assert held.begun == ["1", "2"]
