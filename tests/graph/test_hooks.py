"""The user's hooks run on the events of a run, confined as programs are."""

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from manus import Profile, build_agent
from manus.config.safety_settings import HookSettings
from tests.helpers.agent import ScriptedAgent
from tests.server import call, text

PROFILE = Profile(
    "worker", "Works.", ("bash", "ask_human"), "You work in $workspace.", "What next?"
)
LOG = "cat >> log; echo >> log"
"""A hook that writes the events that it gets, a line each."""


@pytest.fixture
def agent(agent: ScriptedAgent) -> ScriptedAgent:
    agent.graph = build_agent(PROFILE, checkpointer=agent.saver)
    return agent


def write_hooks(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *hooks: Mapping[str, object]
) -> None:
    lines = []
    for hook in hooks:
        values = "\n".join(f"{name} = {json.dumps(value)}" for name, value in hook.items())
        lines.append(f"[[hooks]]\n{values}\n")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manus.toml").write_text("".join(lines))
    monkeypatch.chdir(folder)


def read_events(workspace: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (workspace / "log").read_text().splitlines()]


async def test_events(
    agent: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = ("PreToolUse", "PostToolUse", "Stop", "Notification")
    write_hooks(monkeypatch, tmp_path / "here", *({"event": e, "command": LOG} for e in events))
    await agent.run(call("bash", command="echo hello"), text("Done."))
    before, after, stop = read_events(agent.workspace)
    for event in (before, after):
        assert event["tool_name"] == "bash"
        assert event["tool_input"] == {"command": "echo hello"}
        assert event["session_id"] == "t"
        assert event["cwd"] == str(agent.workspace)
    assert "hello" in str(after["tool_response"])
    assert [each["hook_event_name"] for each in (before, after, stop)] == [*events[:3]]
    await agent.run(call("ask_human", inquire="Which?"), interactive=True)
    assert read_events(agent.workspace)[-1]["hook_event_name"] == "Notification"


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
async def test_an_objection_reaches_the_model(
    agent: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    object_ = "grep -q secret && { echo Not in this project. >&2; exit 2; }; true"
    hook = {"event": event, "matcher": "str_*|bash", "command": object_}
    write_hooks(monkeypatch, tmp_path / "here", hook)
    await agent.run(
        call("bash", command="echo secret > a"), call("bash", command="echo 1 > b"), text("Done.")
    )
    first, second = (
        m["content"] for m in agent.server.requests[-1].messages if m["role"] == "tool"
    )
    assert "Not in this project." in first
    assert "Not in this project." not in second
    assert (agent.workspace / "a").exists() == (event == "PostToolUse")
    assert (agent.workspace / "b").exists()


async def test_a_hook_that_fails_changes_nothing(
    agent: ScriptedAgent,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    commands = ("exit 1", "sleep 60", "no-such-program")
    hooks = ({"event": "PreToolUse", "command": c, "timeout": 0.5} for c in commands)
    write_hooks(monkeypatch, tmp_path / "here", *hooks)
    outcome = await agent.run(call("bash", command="echo 1 > a"), text("Done."))
    assert outcome.success
    assert (agent.workspace / "a").exists()
    for problem in ("exit code 1", "timed out", "exit code 127"):
        assert problem in caplog.text


@pytest.mark.sandboxed
async def test_only_a_program_of_the_machine_runs_outside_of_the_sandbox(
    agent: ScriptedAgent,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    outside = tmp_path / "outside"
    script = tmp_path / "hook.py"
    script.write_text(f"open({str(outside)!r}, 'a').write('x')")
    agent.workspace.mkdir(parents=True, exist_ok=True)
    planted = agent.workspace / "hook.py"
    planted.write_text(script.read_text())
    python = shlex.quote(sys.executable)
    hooks = [
        {"event": "PreToolUse", "command": f"{python} {path}", "sandbox": is_confined}
        for path, is_confined in ((script, True), (planted, False), ("hook.py", False))
    ]
    write_hooks(monkeypatch, tmp_path / "here", *hooks)
    await agent.run(call("bash", command="true"), text("Done."))
    assert not outside.exists()
    assert caplog.text.count("Programs of the run can change") == 2
    write_hooks(
        monkeypatch,
        tmp_path / "here",
        {"event": "PreToolUse", "command": f"{python} {script}", "sandbox": False},
    )
    await agent.run(call("bash", command="true"), text("Done."), thread="u")
    assert outside.read_text() == "x"


async def test_hooks_of_an_untrusted_folder_do_not_run(
    agent: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_TRUST", "0")
    write_hooks(monkeypatch, tmp_path / "here", {"event": "PreToolUse", "command": LOG})
    await agent.run(call("bash", command="true"), text("Done."))
    assert not (agent.workspace / "log").exists()


@pytest.mark.parametrize(
    ("event", "tool", "applies"),
    [
        ("PreToolUse", "bash", True),
        ("PreToolUse", "mcp_a_b", True),
        ("PreToolUse", "web_search", False),
        ("PostToolUse", "bash", False),
    ],
)
def test_matchers(event: str, tool: str, *, applies: bool) -> None:
    hook = HookSettings(event="PreToolUse", command="true", matcher="bash | mcp_*")
    assert hook.applies(event, tool) == applies  # type: ignore[arg-type]
