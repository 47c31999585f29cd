"""A run of the agent graph with tools of an MCP server."""

import json
import sys
from pathlib import Path

import psutil
from blockbuster import blockbuster_ctx

from manus.sqlite import SqliteStore
from tests.helpers.agent import ScriptedAgent
from tests.mcp.conftest import ASKING, ODD
from tests.server import ScriptedServer, replies


def configure(agent: ScriptedAgent) -> None:
    """Name the odd server, and one that is down, in `manus.toml`."""
    arguments = json.dumps([ODD, "stdio"])
    (agent.workspace.parent / "manus.toml").write_text(
        f"[mcp.odd]\ncommand = {json.dumps(sys.executable)}\nargs = {arguments}\n"
        "connect_timeout = 90\ntrust = true\n"
        f"[sandbox]\nread = [{json.dumps(str(Path(ODD).parent))}]\n"
        '[mcp.down]\nurl = "http://127.0.0.1:9/mcp"\n'
    )


async def test_a_run_calls_a_tool_and_nothing_blocks_or_is_left(
    agent: ScriptedAgent, saver: SqliteStore, server: ScriptedServer
) -> None:
    configure(agent)
    asking = ScriptedAgent(server, agent.workspace, saver, ASKING)
    with blockbuster_ctx(scanned_modules=["graph", "nodes", "state", "prompts", "tools"]):
        outcome = await asking.run(
            replies.call("mcp_odd_add", a=2, b=3),
            replies.call("mcp_odd_picture"),
            replies.call("mcp_down_add", a=2, b=3),
            replies.call("terminate", status="success", answer="Done."),
        )
    assert outcome.success
    first, second, third, _ = await asking.observations()
    assert first == "5"
    assert second == ""
    assert third.startswith("There is no tool `mcp_down_add`.")
    assert not [p for p in psutil.Process().children() if "odd_server.py" in str(p.cmdline())]
