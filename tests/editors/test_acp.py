"""An editor works with the program, through the client of the protocol's own package."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import helpers, schema

from manus.acp.agent import EditorAgent
from manus.config.settings import load_settings
from manus.threads.open_store import open_store
from tests.helpers.processes import until
from tests.helpers.sandboxes import with_sandbox
from tests.helpers.tools import RED_DOT
from tests.server import ScriptedServer, call, fail, text

pytestmark = pytest.mark.environ(MANUS_MODEL="scripted", PYTHONPATH=str(Path(__file__).parents[2]))


class Editor:
    """An editor that keeps what it receives, and answers questions from a list."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[tuple[schema.ToolCallUpdate, list[str]]] = []
        self.answers: list[str | None] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self,
        session_id: str,
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **_: Any,
    ) -> schema.RequestPermissionResponse:
        self.asked.append((tool_call, [option.option_id for option in options]))
        answer = self.answers.pop(0)
        outcome: Any = schema.DeniedOutcome(outcome="cancelled")
        if answer is not None:
            outcome = schema.AllowedOutcome(outcome="selected", option_id=answer)
        return schema.RequestPermissionResponse(outcome=outcome)

    def said(self, kind: type[Any] = schema.AgentMessageChunk) -> str:
        return "".join(each.content.text for each in self.updates if isinstance(each, kind))

    def all(self, kind: type[Any]) -> list[Any]:
        return [each for each in self.updates if isinstance(each, kind)]


class Connection:
    """A connection of an editor to a process of the program."""

    def __init__(self, editor: Editor, agent: Any, process: Any, folder: Path) -> None:
        self.editor = editor
        self.agent = agent
        self.process = process
        self.folder = folder
        self.session = ""

    async def open(self) -> schema.NewSessionResponse:
        response: schema.NewSessionResponse = await self.agent.new_session(cwd=str(self.folder))
        self.session = response.session_id
        return response

    async def prompt(self, *blocks: Any) -> schema.PromptResponse:
        content = [helpers.text_block(b) if isinstance(b, str) else b for b in blocks]
        response: schema.PromptResponse = await self.agent.prompt(
            prompt=content, session_id=self.session
        )
        return response


Connect = Callable[[], AbstractAsyncContextManager[Connection]]


@pytest.fixture
def folder(tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide the project that the editor has opened."""
    monkeypatch.setenv("MANUS_BASE_URL", server.base_url)
    monkeypatch.setenv("MANUS_TRUST", "1")
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def start(folder: Path) -> Connect:
    """Start the program as an editor does."""

    @asynccontextmanager
    async def connecting() -> AsyncIterator[Connection]:
        editor: Any = Editor()  # without the methods that the agent does not use
        command = (sys.executable, "-m", "manus", "acp")
        async with acp.spawn_agent_process(editor, *command, env={**os.environ}) as (
            agent,
            process,
        ):
            yield await initialize(Connection(editor, agent, process, folder))

    return connecting


@pytest.fixture
def connect(folder: Path) -> Connect:
    """Connect to the agent in this process, which takes less time."""

    @asynccontextmanager
    async def connecting() -> AsyncIterator[Connection]:
        editor: Any = Editor()
        sockets = socket.socketpair()
        (reader, writer), (far_reader, far_writer) = [
            await asyncio.open_connection(sock=each) for each in sockets
        ]
        settings = with_sandbox(load_settings(os.environ))
        async with open_store(settings) as store:
            agent: Any = EditorAgent(store, settings)
            serving = asyncio.create_task(acp.run_agent(agent, far_writer, far_reader))
            client = acp.connect_to_agent(editor, writer, reader)
            yield await initialize(Connection(editor, client, None, folder))
            await client.close()
            writer.close()
            await serving
            far_writer.close()
            await asyncio.gather(writer.wait_closed(), far_writer.wait_closed())

    return connecting


async def initialize(connection: Connection) -> Connection:
    response = await connection.agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
    assert response.protocol_version == acp.PROTOCOL_VERSION
    assert response.agent_capabilities.load_session
    return connection


async def test_a_turn_with_calls(start: Connect, server: ScriptedServer) -> None:
    server.script(
        call("bash", command="echo from the shell"),
        call("str_replace_editor", command="create", path="a.txt", file_text="one\n"),
        call(
            "str_replace_editor", command="str_replace", path="a.txt", old_str="one", new_str="two"
        ),
        call("bash", command="exit 3"),
        text("It is done."),
    )
    async with start() as connection:
        opened = await connection.open()
        assert opened.modes is not None
        assert opened.modes.current_mode_id == "auto"
        response = await connection.prompt("Write a.txt.")
        editor = connection.editor
        assert response.stop_reason == "end_turn"
        assert editor.said() == "It is done."
        starts = editor.all(schema.ToolCallStart)
        assert [start.kind for start in starts] == ["execute", "edit", "edit", "execute"]
        assert starts[0].title == "bash: echo from the shell"
        [diff] = starts[2].content
        path = str(connection.folder / "a.txt")
        assert (diff.path, diff.old_text, diff.new_text) == (path, "one", "two")
        assert starts[2].locations[0].path == path
        ends = editor.all(schema.ToolCallProgress)
        assert [end.status for end in ends] == ["completed", "completed", "completed", "failed"]
        assert "from the shell" in ends[0].content[0].content.text
        assert [end.tool_call_id for end in ends] == [start.tool_call_id for start in starts]
        assert (connection.folder / "a.txt").read_text() == "two\n"
        server.script(text("Nothing more."))
        await connection.prompt("What else?")
        assert editor.said() == "It is done.Nothing more."
        assert "It is done." in str(server.requests[-1].messages)


async def test_files_and_images_of_a_prompt(connect: Connect, server: ScriptedServer) -> None:
    server.script(text("Seen."))
    async with connect() as connection:
        await connection.open()
        file = connection.folder / "a b.txt"
        file.write_text("content of a file")
        resource = helpers.embedded_text_resource("file:///b.txt", "an open buffer")
        await connection.prompt(
            "Look at ",
            helpers.resource_link_block("a b.txt", file.as_uri()),
            helpers.resource_block(resource),
            helpers.image_block(RED_DOT, "image/png"),
        )
    request = str(server.requests[-1].messages)
    for part in ("content of a file", "an open buffer", RED_DOT):
        assert part in request


async def test_permission(connect: Connect, server: ScriptedServer) -> None:
    write = call("str_replace_editor", command="create", path="a.txt", file_text="1")
    again = call("str_replace_editor", command="insert", path="a.txt", insert_line=0, new_str="0")
    async with connect() as connection:
        editor = connection.editor
        for answer, content in (("no", None), ("yes", "0\n1"), ("run", "0\n1")):
            editor.updates.clear()
            editor.asked.clear()
            await connection.open()
            await connection.agent.set_session_mode(session_id=connection.session, mode_id="ask")
            server.script(write, again, text("Done."))
            editor.answers = [answer] * 2
            await connection.prompt("Write it.")
            about, options = editor.asked[0]
            assert options == ["yes", "run", "always", "no"]
            assert about.tool_call_id == editor.all(schema.ToolCallStart)[0].tool_call_id
            assert "a.txt" in about.content[0].content.text  # type: ignore[index]
            file = connection.folder / "a.txt"
            assert (file.read_text() if file.exists() else None) == content
            assert len(editor.asked) == (1 if answer == "run" else 2)
            file.unlink(missing_ok=True)


async def test_a_question_in_words_is_answered_by_the_next_prompt(
    connect: Connect, server: ScriptedServer
) -> None:
    server.script(call("ask_human", inquire="Which color?"), text("Blue it is."))
    async with connect() as connection:
        await connection.open()
        assert (await connection.prompt("Paint it.")).stop_reason == "end_turn"
        assert connection.editor.said().endswith("Which color?")
        await connection.prompt("blue")
        assert connection.editor.said().endswith("Blue it is.")
    assert "'blue'" in str(server.requests[-1].messages)


@pytest.mark.parametrize("by", ["cancel", "refusal of the question"])
async def test_a_cancelled_turn(connect: Connect, server: ScriptedServer, by: str) -> None:
    server.script(call("bash", command="touch began; sleep 60"))
    async with connect() as connection:
        await connection.open()
        if by == "cancel":
            turn = asyncio.create_task(connection.prompt("Wait."))
            await until((connection.folder / "began").exists)
            await connection.agent.cancel(session_id=connection.session)
        else:
            await connection.agent.set_session_mode(session_id=connection.session, mode_id="ask")
            connection.editor.answers = [None]
            turn = asyncio.create_task(connection.prompt("Wait."))
        assert (await turn).stop_reason == "cancelled"
        server.script(text("I stopped."))
        assert (await connection.prompt("And now?")).stop_reason == "end_turn"
        assert "And now?" in str(server.requests[-1].messages)


async def test_a_plan(connect: Connect, server: ScriptedServer) -> None:
    server.script(
        call("planning", command="create", title="T", steps=["First", "Second"]),
        text("one"),
        text("two"),
        text("All done."),
    )
    async with connect() as connection:
        await connection.open()
        session = connection.session
        await connection.agent.set_session_mode(session_id=session, mode_id="ask")
        options = await connection.agent.set_config_option(
            config_id="plan_first", session_id=session, value=True
        )
        assert options.config_options[1].current_value is True
        connection.editor.answers = ["yes"]
        await connection.prompt("Do both.")
        assert "First" in str(connection.editor.asked[0][0].content)
        plans = connection.editor.all(schema.AgentPlanUpdate)
        assert [entry.status for entry in plans[0].entries] == ["pending", "pending"]
        assert [entry.status for entry in plans[-1].entries] == ["completed", "completed"]
        assert "All done." in connection.editor.said()


async def test_a_session_is_loaded_after_a_kill(start: Connect, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo counted >> count; touch began; sleep 60"))
    async with start() as connection:
        await connection.open()
        session = connection.session
        turn = asyncio.create_task(connection.prompt("Count once."))
        await until((connection.folder / "began").exists)
        connection.process.kill()
        await connection.process.wait()
        turn.cancel()
    server.script(text("Counted once."))
    async with start() as connection:
        listed = await connection.agent.list_sessions(cwd=str(connection.folder))
        assert [(each.session_id, each.title) for each in listed.sessions] == [
            (session, "Count once.")
        ]
        await connection.agent.load_session(cwd=str(connection.folder), session_id=session)
        editor = connection.editor
        assert editor.said(schema.UserMessageChunk) == "Count once."
        [shown] = editor.all(schema.ToolCallStart)
        assert shown.title.startswith("bash")
        connection.session = session
        await connection.prompt("Go on.")
        assert editor.said() == "Counted once."
        assert (connection.folder / "count").read_text() == "counted\n"


async def test_wrong_requests(connect: Connect) -> None:
    content = [helpers.text_block("x")]
    async with connect() as connection:
        agent = connection.agent
        with pytest.raises(acp.RequestError, match="absolute path"):
            await agent.new_session(cwd="relative")
        with pytest.raises(acp.RequestError, match="not found"):
            await agent.load_session(cwd="/", session_id="unknown")
        with pytest.raises(acp.RequestError, match="not found"):
            await agent.prompt(prompt=content, session_id="unknown")
        assert (await connection.open()).session_id


async def test_an_error_of_the_model_is_a_sentence(
    connect: Connect, server: ScriptedServer
) -> None:
    server.script(fail(401, message="wrong key"))
    async with connect() as connection:
        await connection.open()
        with pytest.raises(acp.RequestError, match="key"):
            await connection.prompt("Hello.")
