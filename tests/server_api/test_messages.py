"""Messages to a thread of LangGraph's server during a run."""

from typing import Any

import httpx

from tests.helpers.pause import Pause
from tests.server import call, text
from tests.server_api.dev_server import DevServer
from tests.server_api.studio import Studio

LOOKS = call("bash", command="true")


def count(studio: Studio, number: int, words: str) -> int:
    return studio.server.requests[number].raw.decode().count(words)


async def test_a_message_steers_a_run(dev: DevServer, studio: Studio) -> None:
    pause = Pause()
    thread = await studio.thread()
    path = f"{dev.url}/manus/threads/{thread}/messages"
    studio.server.script(pause.before(LOOKS), text("Done."))
    run = await studio.client.runs.create(
        thread, "agent", input={"request": "Do it."}, context=studio.context()
    )
    await studio.server.wait_async(1)
    async with httpx.AsyncClient() as client:
        response = await client.post(path, json={"text": "Use tabs."})
        assert response.status_code == 201
        forgotten = await client.post(path, json={"text": "Forget it."})
        deletion = await client.delete(f"{path}/{forgotten.json()['id']}")
        assert deletion.status_code == 204
        listed = (await client.get(path)).json()
        assert [message["id"] for message in listed] == [response.json()["id"]]
        pause.end()
        await studio.client.runs.join(thread, run["run_id"])
        assert (await client.get(path)).json() == []
        again = await client.delete(f"{path}/{response.json()['id']}")
        assert (again.status_code, "already read it" in again.json()["detail"]) == (404, True)
    assert [count(studio, number, "Use tabs.") for number in (0, 1)] == [0, 1]
    assert "Forget it." not in studio.server.requests[-1].text
    state: Any = await studio.client.threads.get_state(thread)
    assert state["values"]["output"] == "Done."


async def test_enqueue_is_the_next_run(dev: DevServer, studio: Studio) -> None:
    pause = Pause()
    thread = await studio.thread()
    studio.server.script(pause.before(LOOKS), text("Done."), text("Swept."))
    options: Any = {"context": studio.context(), "multitask_strategy": "enqueue"}
    first = await studio.client.runs.create(thread, "agent", input={"request": "Do it."}, **options)
    await studio.server.wait_async(1)
    second = await studio.client.runs.create(
        thread, "agent", input={"request": "Then sweep."}, **options
    )
    pause.end()
    await studio.client.runs.join(thread, first["run_id"])
    result: Any = await studio.client.runs.join(thread, second["run_id"])
    assert result["output"] == "Swept."
    assert [count(studio, number, "Then sweep.") for number in (1, 3)] == [0, 1]


async def test_bad_messages_are_refused(dev: DevServer) -> None:
    path = f"{dev.url}/manus/threads/t/messages"
    async with httpx.AsyncClient() as client:
        empty = await client.post(path, json={"text": " "})
        malformed = await client.post(
            path, content="[", headers={"Content-Type": "application/json"}
        )
    assert (empty.status_code, empty.json()["detail"][:20]) == (422, "The message is empty")
    assert (malformed.status_code, "JSON object" in malformed.json()["detail"]) == (422, True)
