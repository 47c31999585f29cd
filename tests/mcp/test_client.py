"""Tools of real servers: what comes back, what goes wrong, and what is left afterwards."""

import base64
import logging
import re
import shutil
from pathlib import Path
from unittest.mock import AsyncMock

import psutil
import pytest
from mcp import types
from pydantic import AnyUrl

from manus.config.mcp_settings import McpServer
from manus.execution.base import AgentTool
from manus.state.errors import SettingsError
from manus.tools.mcp import load_mcp_tools
from manus.tools.mcp.pins import trust
from manus.tools.mcp.server import Connection, NotSentError
from manus.tools.mcp.tools import MAX_NAME, to_observation, tool_name
from tests.helpers.agent import ScriptedAgent
from tests.helpers.blocking import nothing_blocks
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in
from tests.mcp.conftest import ASKING, ODD, ODD_SERVER, Connect, odd, odd_at_address
from tests.server import replies


def running_server() -> psutil.Process:
    """The server that this process has started; other tests' children are not counted."""
    [found] = [p for p in psutil.Process().children() if "odd_server.py" in str(p.cmdline())]
    return found


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.environ(THE_TOKEN="open sesame")
async def test_a_server_at_an_address_wants_a_token_and_is_started_again(
    connect: Connect, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with odd_at_address(kind, TOKEN="open sesame") as (url, port):
        given = {"url": url, "transport": kind}
        mine = McpServer.model_validate({**given, "token": "${THE_TOKEN}"})
        catalog, _ = await connect(mine=mine, other=McpServer.model_validate(given))
        assert (await catalog.execute("mcp_mine_add", {"a": 2, "b": 3})).text == "5"
        assert not any(name.startswith("mcp_other") for name in catalog.names())
    [line] = warnings(caplog)
    assert f"`other` ({url})" in line
    assert "401" in line
    gone = await catalog.execute("mcp_mine_note", {"line": "x"})
    assert gone.is_error
    assert "`mine`" in gone.text
    if kind == "http":
        with odd_at_address(kind, port, TOKEN="open sesame"):
            assert (await catalog.execute("mcp_mine_add", {"a": 2, "b": 3})).text == "5"
    with pytest.raises(SettingsError, match="THE_TOKEN"):
        mine.all_headers({})


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    told = (r.message for r in caplog.records if r.name == "manus" and r.levelno >= logging.WARNING)
    return sorted(told)


async def test_those_that_are_down_are_told(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    catalog, session = await connect(
        missing=McpServer(command="no-such-program"),
        silent=McpServer(command="sleep", args=("600",), connect_timeout=0.3),
        failing=McpServer(command="sh", args=("-c", "echo no key >&2; exit 3")),
        nowhere=McpServer(url="http://127.0.0.1:9/mcp"),
        off=McpServer(url="http://127.0.0.1:9/mcp", enabled=False),
    )
    await load_mcp_tools(catalog, session)  # the next step: not tried again
    assert catalog.names() == ["terminate"]
    lines = warnings(caplog)
    assert [line.split("`")[1] for line in lines] == ["failing", "missing", "nowhere", "silent"]
    assert "its last output: no key" in lines[0]
    assert "within 0.3 s" in lines[3]


async def test_a_server_that_died_or_hangs_is_started_again(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no call is made twice."""
    catalog, session = await connect(odd=odd())
    died = await catalog.execute("mcp_odd_note_and_die", {"line": "once"})
    assert died.is_error
    assert "may have taken effect" in died.text
    assert (session.workspace.root / "noted").read_text() == "once\n"
    # the next call starts it again; so does one after it died between two calls
    assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"
    server = running_server()
    inside = server.children(recursive=True)  # which end a moment after the sandbox around them
    server.kill()
    psutil.wait_procs([server, *inside])
    said = [await catalog.execute("mcp_odd_add", {"a": 2, "b": 3}) for _ in range(2)]
    assert said[-1].text == "5"
    # one that hangs is ended too
    hanging, known = running_server(), session.peek("mcp:odd")
    known.settings = odd(call_timeout=0.5)
    frozen = await catalog.execute("mcp_odd_freeze")
    assert frozen.is_error
    assert "within 0.5 s" in frozen.text
    assert not hanging.is_running()
    # one that never takes a call has not carried it out, either
    monkeypatch.setattr(Connection, "request", AsyncMock(side_effect=NotSentError))
    refused = await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})
    assert "do without it" in refused.text


@pytest.mark.sandboxes
@pytest.mark.environ(OPENAI_API_KEY="secret")
async def test_what_a_program_gets_what_changes_and_how_it_ends(connect: Connect) -> None:
    given = odd(env={"GIVEN": "for the server"}, read_only=["add"])
    catalog, session = await connect(odd=given)
    server = running_server()
    assert server.environ()["GIVEN"] == "for the server"
    assert "OPENAI_API_KEY" not in server.environ()
    trusted = catalog.find("mcp_odd_add")
    assert isinstance(trusted, AgentTool)
    assert trusted.read_only({})
    for _ in range(2):  # new tools are offered once they are trusted
        assert catalog.find("mcp_odd_grown") is None
        await catalog.execute("mcp_odd_grow")
        await load_mcp_tools(catalog, session)
        trust("odd")
    await load_mcp_tools(catalog, session)
    assert (await catalog.execute("mcp_odd_grown")).text == "grown"
    assert catalog.names().count("mcp_odd_grown") == 1
    await session.close()
    assert not server.is_running()


NAMES = {
    ("a", "b_c"): r"mcp_a_b_c",
    ("a_b", "c"): r"mcp_a_b_c_[0-9a-f]{8}",  # taken
    ("海", "a b/c"): r"mcp___a_b_c",
    ("a", "x" * 80): r"mcp_a_x{49}_[0-9a-f]{8}",
}


def test_names_fit_for_any_provider_and_are_no_other_tools(subtests: pytest.Subtests) -> None:
    for (server, tool), name in NAMES.items():
        with subtests.test(server=server, tool=tool):
            taken = {"mcp_a_b_c"} if server == "a_b" else set[str]()
            made = tool_name(server, tool, taken.__contains__)
            assert re.fullmatch(name, made)
            assert len(made) <= MAX_NAME


@pytest.mark.sandboxes("bubblewrap", "landlock")
async def test_a_program_is_in_the_sandbox_unless_its_settings_say_otherwise(
    connect: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture, sandbox_kind: Kind
) -> None:
    secret = tmp_path.with_name(f"{tmp_path.name}-own") / "secret"
    secret.parent.mkdir(exist_ok=True)
    secret.write_text("token")
    look = ("-c", f'cat "{secret}" >&2; exit 3')
    await connect(
        inside=McpServer(command="sh", args=look),
        outside=McpServer(command="sh", args=look, sandbox=False),
    )
    inside, outside = sorted(r.message for r in caplog.records if "cannot be used" in r.message)
    assert ("No such file" if sandbox_kind == "bubblewrap" else "Permission denied") in inside
    assert "sandbox = false" in inside
    assert "its last output: token" in outside
    assert "sandbox" not in outside


@pytest.mark.sandboxes
async def test_a_program_is_started_in_a_folder_of_its_own(
    connect: Connect, tmp_path: Path
) -> None:
    """Its folder lies outside of the workspace, and is there to be read."""
    folder = tmp_path / "服务 server"
    folder.mkdir()
    shutil.copy(ODD, folder / "mine.py")
    (folder / ".env").write_text("DEPTH=3\n")  # which the protocol's SDK reads where it starts
    here = odd(args=("mine.py", "stdio"), directory=str(folder))
    catalog, _ = await connect(here=here)
    assert (await catalog.execute("mcp_here_add", {"a": 2, "b": 3})).text == "5"


async def test_what_a_server_answers_and_cannot_have(
    connect: Connect, subtests: pytest.Subtests
) -> None:
    catalog, _ = await connect(odd=odd())
    [image] = (await catalog.execute("mcp_odd_picture")).images
    assert image.mime == "image/png"
    refused: list[tuple[str, dict[str, str], str]] = [
        ("fail", {}, "the tide is out"),
        ("add", {"a": "x"}, "valid integer"),
        ("paint", {}, "Elicitation not supported"),  # the user is not at the servers' disposal
        ("think", {}, "Sampling not supported"),  # nor is the model
    ]
    for tool, arguments, said in refused:
        with subtests.test(tool=tool, arguments=arguments):
            found = await catalog.execute(f"mcp_odd_{tool}", arguments)
            assert found.is_error
            assert said in found.text


async def test_what_is_no_text_is_kept_as_picture_or_file(tmp_path: Path) -> None:
    workspace = session_in(tmp_path).workspace
    data, uri = base64.b64encode(b"RIFF").decode(), AnyUrl("odd://tides")
    text = types.TextResourceContents(uri=uri, text="Das Meer 海")
    png = types.BlobResourceContents(uri=uri, mimeType="image/png", blob=data)
    content: list[types.ContentBlock] = [
        types.ResourceLink(type="resource_link", uri=uri, name="tides", mimeType="text/csv"),
        *(types.EmbeddedResource(type="resource", resource=found) for found in (text, png)),
        types.AudioContent(type="audio", data=data, mimeType="audio/x-wav"),
    ]
    seen = await to_observation(types.CallToolResult(content=content), workspace)
    link, embedded, poem, sound = seen.text.splitlines()
    assert link == "[resource tides (text/csv): odd://tides]"
    assert (embedded, poem) == ("[resource odd://tides]", "Das Meer 海")
    assert [image.mime for image in seen.images] == ["image/png"]
    assert (tmp_path / sound.rpartition(" in ")[2].rstrip("]")).read_bytes() == b"RIFF"


async def test_a_run_calls_a_tool_and_nothing_blocks_or_is_left(agent: ScriptedAgent) -> None:
    (agent.workspace.parent / "manus.toml").write_text(
        f'{ODD_SERVER}trust = true\n[sandbox]\nread = ["{Path(ODD).parent}"]\n'
        '[mcp.down]\nurl = "http://127.0.0.1:9/mcp"\n'
    )
    asking = ScriptedAgent(agent.server, agent.workspace, agent.saver, ASKING)
    with nothing_blocks():
        outcome = await asking.run(
            replies.call("mcp_odd_add", a=2, b=3),
            replies.call("mcp_down_add", a=2, b=3),
            replies.call("terminate", status="success", answer="Done."),
        )
    assert outcome.success
    first, second, _ = await asking.observations()
    assert first == "5"
    assert second.startswith("There is no tool `mcp_down_add`.")
    assert not [p for p in psutil.Process().children() if "odd_server.py" in str(p.cmdline())]

    await agent.run(replies.call("mcp_odd_add", a=2, b=3), replies.text("Done."), thread="other")
    [said] = await agent.observations("other")
    assert said.startswith("There is no tool `mcp_odd_add`."), "its profile asks for none"
