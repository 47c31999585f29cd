"""Tools of real servers: results, failures, and what remains afterwards."""

import base64
import logging
import re
import shutil
from importlib.metadata import version
from pathlib import Path
from unittest.mock import AsyncMock

import psutil
import pytest

from manus.calls.base import AgentTool
from manus.config.mcp_settings import McpServer
from manus.sandbox.process_output import listener
from manus.state.errors import SettingsError
from manus.tools.mcp import load_mcp_tools
from manus.tools.mcp.definitions import trust_changes
from manus.tools.mcp.server import Connection, NotSentError
from manus.tools.mcp.tools import MAX_NAME, to_observation, tool_name
from tests.helpers.agent import ScriptedAgent
from tests.helpers.blocking import nothing_blocks
from tests.helpers.sandboxes import Kind
from tests.helpers.sessions import session_in
from tests.mcp.conftest import ASKING, ODD, ODD_SERVER, Connect, odd, odd_at_address
from tests.server import replies


def running_server() -> psutil.Process:
    """Return the server that this process started; other tests' children are not counted."""
    [process] = [p for p in psutil.Process().children() if "odd_server.py" in str(p.cmdline())]
    return process


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.environ(THE_TOKEN="open sesame")
async def test_a_server_at_an_address_requires_a_token_and_is_reconnected(
    connect: Connect, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with odd_at_address(kind, TOKEN="open sesame") as (url, port):
        options = {"url": url, "transport": kind}
        mine = McpServer.model_validate({**options, "token": "${THE_TOKEN}"})
        catalog, _ = await connect(mine=mine, other=McpServer.model_validate(options))
        assert (await catalog.execute("mcp_mine_add", {"a": 2, "b": 3})).text == "5"
        assert not any(name.startswith("mcp_other") for name in catalog.names())
    [line] = warnings(caplog)
    assert f"`other` ({url})" in line
    assert "401" in line
    observation = await catalog.execute("mcp_mine_note", {"line": "x"})
    assert observation.is_error
    assert "`mine`" in observation.text
    if kind == "http":
        with odd_at_address(kind, port, TOKEN="open sesame"):
            assert (await catalog.execute("mcp_mine_add", {"a": 2, "b": 3})).text == "5"
    with pytest.raises(SettingsError, match="THE_TOKEN"):
        mine.expand({})


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    messages = (
        r.message for r in caplog.records if r.name == "manus" and r.levelno >= logging.WARNING
    )
    return sorted(messages)


@pytest.mark.skipif(version("mcp").startswith("1."), reason="version 1 lacks this protocol")
async def test_a_server_of_the_newest_protocol_alone_is_reached(connect: Connect) -> None:
    newest = str(Path(ODD).with_name("newest_server.py"))
    catalog, _ = await connect(new=odd(args=(newest,)))
    assert (await catalog.execute("mcp_new_add", {"a": 2, "b": 3})).text == "5"
    asking = await catalog.execute("mcp_new_add", {"a": 2})
    assert asking.is_error
    assert "needs an answer of the user" in asking.text


async def test_unavailable_servers_are_reported(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    catalog, session = await connect(
        missing=McpServer(command="no-such-program"),
        silent=McpServer(command="sleep", args=("600",), connect_timeout=0.3),
        failing=McpServer(command="sh", args=("-c", "echo no key >&2; exit 3")),
        nowhere=McpServer(url="http://127.0.0.1:9/mcp"),
        off=McpServer(url="http://127.0.0.1:9/mcp", enabled=False),
    )
    await load_mcp_tools(catalog, session)  # the next step: not retried
    assert catalog.names() == ["terminate"]
    lines = warnings(caplog)
    assert [line.split("`")[1] for line in lines] == ["failing", "missing", "nowhere", "silent"]
    assert "its last output: no key" in lines[0]
    assert "within 0.3 s" in lines[3]


async def test_a_server_that_died_or_hangs_is_restarted(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no call is executed twice."""
    catalog, session = await connect(odd=odd())
    died = await catalog.execute("mcp_odd_note_and_die", {"line": "once"})
    assert died.is_error
    assert "may have taken effect" in died.text
    assert (session.workspace.root / "noted").read_text() == "once\n"
    # the next call starts it again, also after it died between two calls
    assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"
    server = running_server()
    inside = server.children(recursive=True)  # which end shortly after the sandbox around them
    server.kill()
    psutil.wait_procs([server, *inside])
    observations = [await catalog.execute("mcp_odd_add", {"a": 2, "b": 3}) for _ in range(2)]
    assert observations[-1].text == "5"
    # a hanging one is ended, too
    hanging, connection = running_server(), session.peek("mcp:odd")
    connection.settings = odd(call_timeout=0.5)
    frozen = await catalog.execute("mcp_odd_freeze")
    assert frozen.is_error
    assert "within 0.5 s" in frozen.text
    assert not hanging.is_running()
    # a server that never accepts a call has not executed it, either
    monkeypatch.setattr(Connection, "request", AsyncMock(side_effect=NotSentError))
    refused = await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})
    assert "do without it" in refused.text


@pytest.mark.sandboxes
@pytest.mark.environ(OPENAI_API_KEY="secret")
async def test_a_programs_environment_changes_and_end(connect: Connect) -> None:
    settings = odd(env={"GIVEN": "for the server"}, read_only=["add"])
    catalog, session = await connect(odd=settings)
    server = running_server()
    assert server.environ()["GIVEN"] == "for the server"
    assert "OPENAI_API_KEY" not in server.environ()
    trusted = catalog.find("mcp_odd_add")
    assert isinstance(trusted, AgentTool)
    assert trusted.read_only({})
    for _ in range(2):  # new tools are available once they are trusted
        assert catalog.find("mcp_odd_grown") is None
        await catalog.execute("mcp_odd_grow")
        await load_mcp_tools(catalog, session)
        trust_changes("odd")
    await load_mcp_tools(catalog, session)
    assert (await catalog.execute("mcp_odd_grown")).text == "grown"
    assert catalog.names().count("mcp_odd_grown") == 1
    await session.close()
    assert not server.is_running()


NAMES = {
    ("a", "b_c"): r"mcp_a_b_c",
    ("a_b", "c"): r"mcp_a_b_c_[0-9a-f]{8}",  # already used
    ("海", "a b/c"): r"mcp___a_b_c",
    ("a", "x" * 80): r"mcp_a_x{49}_[0-9a-f]{8}",
}


def test_names_are_valid_for_any_provider_and_unique(subtests: pytest.Subtests) -> None:
    for (server, tool), name in NAMES.items():
        with subtests.test(server=server, tool=tool):
            names = {"mcp_a_b_c"} if server == "a_b" else set[str]()
            full_name = tool_name(server, tool, names.__contains__)
            assert re.fullmatch(name, full_name)
            assert len(full_name) <= MAX_NAME


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
async def test_a_program_is_started_in_its_own_folder(connect: Connect, tmp_path: Path) -> None:
    """The folder is outside the workspace, and can be read."""
    folder = tmp_path / "服务 server"
    folder.mkdir()
    shutil.copy(ODD, folder / "mine.py")
    (folder / ".env").write_text("DEPTH=3\n")  # read by the protocol's SDK at startup
    here = odd(args=("mine.py", "stdio"), directory=str(folder))
    catalog, _ = await connect(here=here)
    assert (await catalog.execute("mcp_here_add", {"a": 2, "b": 3})).text == "5"


async def test_results_of_a_server_and_requests_it_may_not_make(
    connect: Connect, subtests: pytest.Subtests
) -> None:
    catalog, _ = await connect(odd=odd())
    [image] = (await catalog.execute("mcp_odd_picture")).images
    assert image.mime == "image/png"
    refused: list[tuple[str, dict[str, str], str]] = [
        ("fail", {}, "the tide is out"),
        ("add", {"a": "x"}, "valid integer"),
        ("think", {}, "Sampling not supported"),  # servers cannot use the model
    ]
    for tool, arguments, message in refused:
        with subtests.test(tool=tool, arguments=arguments):
            observation = await catalog.execute(f"mcp_odd_{tool}", arguments)
            assert observation.is_error
            assert message in observation.text
    declined = await catalog.execute("mcp_odd_paint", {})  # nor wait for the user
    assert "painted, decline" in declined.text
    assert "asked the user during the call: Which\ncolour? This was declined" in declined.text


async def test_the_progress_of_a_call_is_its_output(connect: Connect) -> None:
    catalog, _ = await connect(odd=odd())
    lines: list[str] = []
    token = listener.set(lines.append)
    try:
        assert (await catalog.execute("mcp_odd_bake", {})).text == "baked"
    finally:
        listener.reset(token)
    assert lines == ["The dough rises.", "2 of 2"]


async def test_other_content_than_text_is_kept_as_image_or_file(tmp_path: Path) -> None:
    workspace = session_in(tmp_path).workspace
    data, uri = base64.b64encode(b"RIFF").decode(), "odd://tides"
    text = {"uri": uri, "text": "Das Meer 海"}
    png = {"uri": uri, "mimeType": "image/png", "blob": data}
    content = [
        {"type": "resource_link", "uri": uri, "name": "tides", "mimeType": "text/csv"},
        *({"type": "resource", "resource": resource} for resource in (text, png)),
        {"type": "audio", "data": data, "mimeType": "audio/x-wav"},
        {"type": "text", "text": None},
        "tide",
    ]
    observation = await to_observation({"content": content}, workspace)
    link, embedded, poem, sound, *invalid = observation.text.splitlines()
    assert invalid == [
        '[content that does not follow the protocol: {"type": "text", "text": null}]',
        '[content that does not follow the protocol: "tide"]',
    ]
    assert link == "[resource tides (text/csv): odd://tides]"
    assert (embedded, poem) == ("[resource odd://tides]", "Das Meer 海")
    assert [image.mime for image in observation.images] == ["image/png"]
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
    [observation] = await agent.observations("other")
    assert observation.startswith("There is no tool `mcp_odd_add`."), "its profile requests none"
