"""A rewind lists what it cannot take back: effects outside the workspace."""

import signal
from pathlib import Path
from typing import Any

import pytest

from manus import Profile, build_agent, history, rewind
from tests.cli.program import Program
from tests.helpers.agent import ScriptedAgent
from tests.helpers.processes import until
from tests.mcp.conftest import ODD, ODD_SERVER
from tests.safety.conftest import Internet
from tests.safety.test_carriers import write_settings
from tests.server import ScriptedServer, call, text

TOOLS = ("bash", "browser_use", "str_replace_editor", "remember", "web_search", "mcp")
PROFILE = Profile("worker", "Works.", TOOLS, "You work in $workspace.", "What next?")
FORM = "<form action='/sent' method=post><button>Buy now</button></form>"


def browse(action: str, **arguments: Any) -> Any:
    return call("browser_use", action=action, **arguments)


@pytest.mark.sandboxed
async def test_a_rewind_lists_the_calls_with_effects_outside(
    agent: ScriptedAgent, internet: Internet
) -> None:
    settings = f'[sandbox]\nread = ["{Path(ODD).parent}"]\n'
    write_settings(agent.workspace.parent, internet, f"{ODD_SERVER}trust = true\n{settings}")
    agent.graph = build_agent(PROFILE, checkpointer=agent.saver)
    internet.pages |= {"shop.example/": FORM, "shop.example/sent": "Thanks", "api.example/": "ok"}
    await agent.run(
        call("bash", command="echo 1 > a.txt; cat a.txt"),
        call("bash", command="curl -s -d order=1 http://api.example/"),
        call("str_replace_editor", command="create", path="b.txt", file_text="b"),
        browse("go_to_url", url="http://shop.example/"),
        browse("click_element", index=1),
        call("mcp_odd_note", line="from the agent"),
        call("remember", fact="The user likes tea."),
        text("Done."),
        approve="yolo",
    )
    effects = [
        "bash: curl -s -d order=1 http://api.example/",
        "browser_use: click_element 1",
        "mcp_odd_note: from the agent",
        "remember: The user likes tea.",
    ]
    result = await rewind(agent.saver, "t", to=0)
    assert [*map(str, result.outside_effects)] == effects
    assert sorted(result.restored) == ["a.txt", "b.txt"]
    assert result.in_doubt == ["noted"]  # nobody logs what an MCP server writes
    await rewind(agent.saver, "t", undo=True)
    first = (await history(agent.saver, "t"))[0].checkpoint
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_id": first}}
    agent.server.script(text("Again."))
    context = agent.context(restore_files=True)
    stream = agent.graph.astream(None, config, context=context, stream_mode="custom")
    [event] = [event async for event in stream if event["type"] == "files"]
    assert event["outside_effects"] == effects
    assert "Not taken back, because it is outside the workspace: bash: curl" in event["text"]
    assert sorted(event["restored"]) == ["a.txt", "b.txt"]
    assert event["in_doubt"] == ["noted"]


async def test_a_call_that_was_killed_is_listed_as_uncertain(
    manus: Program, server: ScriptedServer
) -> None:
    settings = f'[sandbox]\nread = ["{Path(ODD).parent}"]\n'
    (manus.home / "manus.toml").write_text(f"{ODD_SERVER}trust = true\n{settings}")
    server.script(call("mcp_odd_note_and_freeze", line="from the agent"))
    noted = manus.workspace / "noted"
    options = ("--thread", "t", "--approve", "yolo")
    with manus.start("run", *options, "Note it.") as running:
        await until(noted.exists)
        running.send_signal(signal.SIGKILL)
        running.end()
    manus.end_leftovers()
    rewound = manus("rewind", "t", "--to", "0")
    assert rewound.code == 0, rewound.err
    stderr = " ".join(rewound.err.split())
    assert "Not taken back, because it is outside the workspace: mcp_odd_note" in stderr
    assert "it may have had no effect" in stderr
