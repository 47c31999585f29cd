"""The agent behind deepagents-acp, which serves any compiled graph to an editor."""

from __future__ import annotations

import os
from typing import Any

from benchmarks.consumers import scene as scenes
from benchmarks.consumers.scene import Results, Scene, check, expect


class Editor:
    """The client's side of the protocol: keeps what it is sent, and approves each call."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.questions: list[str] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Keep an update."""
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, **_: Any) -> Any:
        """Approve a call."""
        from acp.schema import AllowedOutcome, RequestPermissionResponse

        self.questions.append(tool_call.title)
        outcome = AllowedOutcome(outcome="selected", option_id="approve")
        return RequestPermissionResponse(outcome=outcome)


async def run(_: str) -> Results:
    """Run the checks over the server's side of the protocol."""
    results: Results = {}
    scene = Scene()
    editor, send = await _open(scene.build())

    async def calls_a_tool() -> str:
        scene.weighs()
        return expect(await send(scenes.REQUEST), scenes.ANSWER)

    async def second() -> str:
        scene.converts()
        said = await send(scenes.SECOND)
        if scene.count_answer() != 1:
            return f"the answer is {scene.count_answer()} times in the second request"
        return expect(said, scenes.SECOND_ANSWER)

    async def streams() -> str:
        kinds = {update.session_update for update in editor.updates}
        missing = {"tool_call", "tool_call_update", "agent_message_chunk"} - kinds
        return f"no {', '.join(sorted(missing))}" if missing else ""

    async def interrupts() -> str:
        os.environ["MANUS_APPROVE"] = "ask"
        asking, send_to = await _open(scene.build())
        scene.weighs()
        said = await send_to(scenes.REQUEST)
        return expect(str(asking.questions), "weigh") or expect(said, scenes.ANSWER)

    await check("tool call", results, calls_a_tool)
    await check("stream", results, streams)
    await check("second request", results, second)
    await check("interrupt", results, interrupts)
    scene.server.close()
    return results


async def _open(graph: Any) -> tuple[Editor, Any]:
    """Return an editor with a session, and a function that returns the text of a reply."""
    from acp.helpers import text_block
    from deepagents_acp.server import AgentServerACP

    server = AgentServerACP(graph)
    editor = Editor()
    server.on_connect(editor)  # type: ignore[arg-type,unused-ignore]
    await server.initialize(protocol_version=1)
    session = await server.new_session(cwd=".")

    async def send(words: str) -> str:
        start = len(editor.updates)
        await server.prompt([text_block(words)], session.session_id)
        said = (update for update in editor.updates[start:] if "message" in update.session_update)
        return "".join(update.content.text for update in said)

    return editor, send
