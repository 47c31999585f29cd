"""What a server lists is read entry by entry; what its settings refer to is looked up."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from manus.config.mcp_settings import McpServer
from manus.state.errors import SettingsError
from manus.tools.mcp.definitions import list_tools, read_definitions
from manus.tools.mcp.sdk import ProtocolError
from tests.mcp.conftest import Connect

FINE: dict[str, Any] = {"name": "fine", "inputSchema": {"type": "object"}}
INVALID: list[tuple[Any, str]] = [
    ({**FINE, "name": "a", "inputSchema": None}, "`a` (inputSchema: "),
    ({**FINE, "name": "a", "inputSchema": []}, "`a` (inputSchema: "),
    ({"name": "a"}, "`a` (inputSchema: "),
    ({**FINE, "name": "a", "annotations": []}, "`a` (annotations: "),
    ({**FINE, "name": "a", "annotations": {"readOnlyHint": "perhaps"}}, "`a` (annotations.read"),
    ({**FINE, "name": "a", "description": 7}, "`a` (description: "),
    ({**FINE, "name": "a", "description": ["x"]}, "`a` (description: "),
    ({**FINE, "name": "a", "title": {}}, "`a` (title: "),
    ({"inputSchema": {}}, "no. 1 (name: "),
    ({**FINE, "name": ""}, "no. 1 (name: "),
    ({**FINE, "name": None}, "no. 1 (name: "),
    ({**FINE, "name": 5}, "no. 1 (name: "),
    ({**FINE, "name": ["x"]}, "no. 1 (name: "),
    ("tool", "no. 1 ("),
    (None, "no. 1 ("),
    ([], "no. 1 ("),
]


@pytest.mark.parametrize(("entry", "problem"), INVALID)
def test_an_invalid_tool_is_left_out(entry: Any, problem: str) -> None:
    tools, problems = read_definitions([entry, FINE])
    assert [tool.name for tool in tools] == ["fine"]
    [text] = problems
    assert text.startswith(problem)


def test_of_a_name_the_first_definition_counts() -> None:
    tools, problems = read_definitions([FINE, FINE, {**FINE, "description": "other"}])
    assert [tool.description for tool in tools] == [None]
    assert problems == ["`fine` (listed again with another definition)"]


def test_unknown_fields_do_not_matter() -> None:
    tool = {**FINE, "outputSchema": [], "icons": 1, "_meta": None, "annotations": {"x-cost": 3}}
    tools, problems = read_definitions([tool])
    assert ([tool.name for tool in tools], problems) == (["fine"], [])


@pytest.mark.parametrize("cursor", ["same", 7, ["list"], {"a": 1}])
async def test_pages_that_lead_to_themselves_are_read_once(cursor: Any) -> None:
    requests: list[Any] = []

    async def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        requests.append(params.get("cursor"))
        return {"tools": [FINE], "nextCursor": cursor}

    assert await list_tools(answer) == [FINE, FINE]
    assert requests == [None, cursor]


@pytest.mark.parametrize("reply", [{}, {"tools": None}, {"tools": {}}, {"tools": "fine"}])
async def test_a_reply_without_a_list_is_an_error(reply: dict[str, Any]) -> None:
    async def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return reply

    with pytest.raises(ProtocolError, match="no list of tools"):
        await list_tools(answer)


# speaks the protocol without the SDK, which would not send such a list
SERVER = """
import json, sys

tools = json.loads(sys.argv[1])
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {"tools": tools}
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"],
                  "capabilities": {"tools": {}}, "serverInfo": {"name": "raw", "version": "1"}}
    elif message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "fine"}, {"type": "text"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


async def test_a_server_with_invalid_tools_is_used(
    connect: Connect, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    entries = [entry for entry, _ in INVALID]
    args = ("-c", SERVER, json.dumps([*entries, FINE]))
    raw = McpServer(command=sys.executable, args=args, connect_timeout=90)
    catalog, _ = await connect(raw=raw)
    assert catalog.names() == ["terminate", "mcp_raw_fine"]
    [record] = [r for r in caplog.records if r.levelno >= logging.WARNING and r.name == "manus"]
    assert "`raw` offers tools that are not valid" in record.message
    assert f"no. {len(entries)} (" in record.message
    result = await catalog.execute("mcp_raw_fine", {})
    assert result.text.startswith("fine\n[content that does not follow the protocol")


EXPANDED = {
    "${A}": "one",
    "x${A}y${B:-two}z": "xoneytwoz",
    "${EMPTY:-three}": "three",
    "${EMPTY}": "",
    "${B:-}": "",
    "${B:-http://127.0.0.1:1/x?y=z}": "http://127.0.0.1:1/x?y=z",
    "$A ${1} ${A-B} $${A}": "$A ${1} ${A-B} $one",
}


@pytest.mark.parametrize("text", EXPANDED)
def test_variables_in_settings(text: str) -> None:
    environment = {"A": "one", "EMPTY": ""}
    program = McpServer.model_validate(
        {"command": f"/bin/{text}", "args": [text, "plain"], "env": {"KEY": text}}
    ).expand(environment)
    assert program.command == f"/bin/{EXPANDED[text]}"
    assert program.args == (EXPANDED[text], "plain")
    assert program.variables == {"KEY": EXPANDED[text]}
    address = McpServer.model_validate(
        {"url": f"http://127.0.0.1/{text}", "headers": {"X": text}, "token": text}
    ).expand(environment)
    assert address.url == f"http://127.0.0.1/{EXPANDED[text]}"
    expected = {"X": EXPANDED[text], "Authorization": f"Bearer {EXPANDED[text]}"}
    assert address.all_headers == expected


def test_a_whole_address_may_be_a_variable() -> None:
    server = McpServer(url="${URL}")
    assert server.expand({"URL": "https://example.org/mcp"}).url == "https://example.org/mcp"
    with pytest.raises(SettingsError, match="http://"):
        server.expand({"URL": "file:///etc/passwd"})


@pytest.mark.environ(SECRET="hidden")
async def test_an_unset_variable_leaves_out_the_server(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    catalog, _ = await connect(
        args=McpServer(command="cat", args=("${SECRET}", "${UNSET_ARG}")),
        command=McpServer(command="${UNSET_COMMAND}"),
        env=McpServer.model_validate({"command": "cat", "env": {"A": "${SECRET}${UNSET_ENV}"}}),
        headers=McpServer.model_validate(
            {"url": "http://127.0.0.1:9/", "headers": {"A": "${SECRET} ${UNSET_HEADER}"}}
        ),
        url=McpServer(url="http://127.0.0.1:9/${UNSET_URL}"),
    )
    assert catalog.names() == ["terminate"]
    lines = [r.message for r in caplog.records if "cannot be used" in r.message]
    expected = ("args", "ARG"), ("command", "COMMAND"), ("env", "ENV"), ("headers", "HEADER")
    for field, name in (*expected, ("url", "URL")):
        [line] = [line for line in lines if f"The MCP server `{field}`" in line]
        assert f"the environment variable UNSET_{name} in its `{field}` is not set" in line
    assert "hidden" not in caplog.text


@pytest.mark.parametrize("version", ["1.9.4", "3.0.0rc1", "4.1"])
def test_another_version_of_the_sdk_is_one_sentence(tmp_path: Path, version: str) -> None:
    folder = tmp_path / f"mcp-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mcp\nVersion: {version}\n")
    code = "from manus.tools.mcp import find_fault; print(find_fault())"
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(tmp_path), str(root)])
    fault = subprocess.check_output(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, text=True
    )
    assert fault == (
        f"MCP servers need the package `mcp` <3,>=1.27, of which {version} is installed and cannot "
        "be used (1.27 to 2.x are supported): install the extra `mcp` (`make setup EXTRAS=mcp`).\n"
    )
